"""How a recorded start is predicted: the options that every command about a capture shares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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

    ``image``, ``mountpoint`` and ``unpacking`` (a file): as in ``predict_on_image``.
    """

    __repr__ = brief

    pids: Pids = "tree"
    model: str | None = None
    device_model: StrPath | None = None
    criterion: Criterion = SECONDS
    image: StrPath | None = None
    mountpoint: str | None = None
    unpacking: StrPath | None = None

    def predicted(
        self,
        recording: Recording,
        windows: list[int] | None = None,
        more: Sequence[Recording] = (),
    ) -> Prediction:
        """Return the prediction; raises as ``predict_by`` and ``predict_on_image``."""
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
