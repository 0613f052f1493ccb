"""How a recorded start is predicted: the options that every command about a capture shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from foreread.analyzer.ingest.arguments import Pids, StrPath
from foreread.analyzer.ingest.recording import Recording
from foreread.analyzer.predict.choice import ChoiceError, predict_by
from foreread.analyzer.predict.criterion import PUBLISHED, SECONDS, Criterion
from foreread.analyzer.predict.linux import PREFIX
from foreread.analyzer.predict.prediction import Prediction
from foreread.boards.base.brief import brief


@dataclass(frozen=True, repr=False)
class Question:
    """How a recorded start is predicted: arguments of ``load`` and of ``predict_by``.

    ``image``, ``mountpoint`` and ``unpacking`` (a file): as in ``predict_on_image``. ``loads`` and
    their ``weights``: as in ``predict_beside``.
    """

    __repr__ = brief

    pids: Pids = "tree"
    model: str | None = None
    device_model: StrPath | None = None
    criterion: Criterion = SECONDS
    image: StrPath | None = None
    mountpoint: str | None = None
    unpacking: StrPath | None = None
    loads: Sequence[StrPath] = ()
    weights: Mapping[str, float] = field(default_factory=dict)

    def predicted(
        self,
        recording: Recording,
        windows: list[int] | None = None,
        more: Sequence[Recording] = (),
    ) -> Prediction:
        """Return the prediction.

        Raises as ``predict_by``, ``predict_on_image`` and ``predict_beside``.
        """
        prediction = self._alone(recording, windows, more)
        if not self.loads:
            return prediction
        # Few predictions are beside loads.
        from foreread.analyzer.load.named import predict_beside  # noqa: PLC0415

        return predict_beside(prediction, self.loads, self.weights, self.criterion)

    def _alone(
        self, recording: Recording, windows: list[int] | None, more: Sequence[Recording]
    ) -> Prediction:
        if self.image is not None:
            return self._on_image(recording, Path(self.image), windows, more)
        return predict_by(
            recording, self.model, windows, self.device_model, more, criterion=self.criterion
        )

    def _on_image(
        self,
        recording: Recording,
        image: Path,
        windows: list[int] | None,
        more: Sequence[Recording],
    ) -> Prediction:
        if self.model not in (None, PREFIX):
            raise ChoiceError(
                "an image is read as the kernel of the capture reads it", "remove --model"
            )
        if more:
            raise ChoiceError("an image is for one capture", "give one capture, or remove --image")
        # Few starts have an image, and its models take long to import.
        from foreread.analyzer.layout.by_window import predict_on_image  # noqa: PLC0415
        from foreread.analyzer.layout.unpacking_file import read_unpacking  # noqa: PLC0415

        unpacking = read_unpacking(Path(self.unpacking)).by_compressor if self.unpacking else None
        prediction = predict_on_image(
            recording, image, windows, self.device_model, self.mountpoint, unpacking
        )
        return prediction.by_criterion() if self.criterion == PUBLISHED else prediction
