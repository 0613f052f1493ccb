"""What sets a window: rules of distributions, services, tuned, and scripts of Android's vendors."""

import re
import subprocess

import pytest
from shells import BUSYBOX, each_shell

from foreread.boards import origin

ROOTS = re.compile(
    r"(?<![\w/.$}*\\])/(?=(?:sys|run|etc|usr|lib|system|vendor|odm|product|system_ext|data|init)\b)"
)
NONE = origin.NONE


class Machine:
    """A root folder with a disk sda (SCSI), a multipath dm-0, an eMMC and an NFS mount."""

    def __init__(self, root, shell):
        self.root, self.shell = root, shell
        device = "sys/devices/pci0/host0/target0/block"
        self.put("sys/devices/pci0/host0/target0/vendor", "PURE    ")
        self.put("sys/devices/pci0/host0/target0/model", "Virtual disk")
        for name, dev in (("sda", "8:0"), ("dm-0", "253:0"), ("mmcblk0", "179:0")):
            self.put(f"{device}/{name}/dev", dev)
            self.put(f"{device}/{name}/uevent", f"DEVNAME={name}\nDEVTYPE=disk")
            self.put(f"{device}/{name}/queue/read_ahead_kb", "128")
            self.put(f"{device}/{name}/queue/rotational", "0")
            self.path("sys/block").mkdir(exist_ok=True)
            self.path(f"sys/block/{name}").symlink_to(self.path(f"{device}/{name}"))
        self.put(f"{device}/dm-0/dm/name", "mpatha")
        self.put(f"{device}/dm-0/dm/uuid", "mpath-3600")
        self.put("sys/devices/virtual/bdi/0:50/read_ahead_kb", "128")
        self.put("sys/devices/virtual/bdi/0:50/uevent", "")
        self.path("sys/class/bdi").mkdir(parents=True)
        self.path("sys/class/bdi/0:50").symlink_to(self.path("sys/devices/virtual/bdi/0:50"))

    def path(self, name):
        return self.root / name

    def put(self, name, text):
        self.path(name).parent.mkdir(parents=True, exist_ok=True)
        self.path(name).write_text(text + "\n")

    def of(self, name):
        """Return the sentences on a disk's window, or on that of a backing device."""
        place = f"sys/class/bdi/{name}/" if ":" in name else f"sys/block/{name}/queue/"
        knob = str(self.path(f"{place}read_ahead_kb"))
        script = ROOTS.sub(f"{self.root}/", origin.program())
        done = subprocess.run(
            [*self.shell, "-c", script, "sh", knob], capture_output=True, text=True, check=True
        )
        assert done.stderr == ""
        lines = done.stdout.replace(f"{self.root}/", "/").splitlines()
        return [line.partition(": ")[2] for line in lines]


@pytest.fixture(params=each_shell(BUSYBOX))
def machine(request, tmp_path):
    return Machine(tmp_path, request.param)


def begins(sentences):
    """Return the sentences up to what to do."""
    return [re.split(r": change|: give|: set it", one)[0] for one in sentences]


RULES = {
    "s390-tools": (
        'SUBSYSTEM!="block", GOTO="end"\nACTION!="add|change", GOTO="end"\n'
        'KERNEL=="sd*", ATTR{queue/read_ahead_kb}="512"\nLABEL="end"',
        {"sda": "3 sets 512 KiB", "dm-0": None, "0:50": None},
    ),
    "array": (
        'ACTION=="add|change", KERNEL=="sd*", SUBSYSTEM=="block", ENV{ID_VENDOR}=="PURE", '
        'ATTR{queue/nr_requests}="1024", ATTR{queue/read_ahead_kb}="128"\n'
        'ACTION=="add|change", KERNEL=="dm-[0-9]*", ENV{DM_UUID}=="mpath-*", '
        'ATTR{bdi/read_ahead_kb}="256"',
        {"sda": "1 sets 128 KiB", "dm-0": "2 sets 256 KiB", "mmcblk0": None},
    ),
    "database": (
        'ACTION=="add|change", KERNEL=="sd[a-z]|hd[a-z]", ATTR{queue/rotational}=="0", \\\n'
        '  ATTR{queue/scheduler}="none", \\\n  ATTR{queue/read_ahead_kb}="8"\n'
        'ACTION=="add|change", KERNEL=="sd[a-z]", ATTR{queue/rotational}=="1", '
        'ATTR{queue/read_ahead_kb}="4096"',
        {"sda": "3 sets 8 KiB", "dm-0": None},
    ),
    "model": (
        'SUBSYSTEM=="block", ATTRS{model}=="Virtual disk*", KERNEL=="sda", '
        'ATTR{bdi/read_ahead_kb}="512"\n'
        'SUBSYSTEM=="block", ATTRS{model}=="Another*", ATTR{bdi/read_ahead_kb}="64"',
        {"sda": "1 sets 512 KiB", "dm-0": None},
    ),
    "command": (
        'ACTION=="add", KERNEL=="sd*", RUN+="/sbin/blockdev --setra 8192 /dev/%k"\n'
        'KERNEL=="mmcblk*", RUN+="/bin/sh -c \'echo 64 > /sys/block/%k/queue/read_ahead_kb\'"',
        {"sda": "1 sets 8192 sectors of 512 bytes", "mmcblk0": "2 sets 64 KiB", "dm-0": None},
    ),
    "nfs": (
        'SUBSYSTEM=="bdi", ACTION=="add", PROGRAM="/usr/libexec/nfsrahead %k", '
        'ATTR{read_ahead_kb}="%c"',
        {"0:50": "1 sets what its program prints (%c)", "sda": None},
    ),
    "program": (
        'SUBSYSTEM=="bdi", ACTION=="add", PROGRAM=="/bin/is-nfs $kernel", '
        'ATTR{read_ahead_kb}="15380"',
        {"0:50": "1 may set 15380 KiB"},
    ),
    "removal": ('ACTION=="remove", KERNEL=="sd*", ATTR{queue/read_ahead_kb}="1"', {"sda": None}),
    "other-action": (
        'ACTION!="add", GOTO="end"\nKERNEL=="sda", ATTR{queue/read_ahead_kb}="16"\nLABEL="end"',
        {"sda": "2 sets 16 KiB"},
    ),
    "question": (
        '# ATTR{queue/read_ahead_kb}="1"\nKERNEL=="sda", ATTR{queue/read_ahead_kb}=="128", '
        'RUN+="/bin/x"',
        {"sda": None},
    ),
}


@pytest.mark.parametrize("name", RULES)
def test_a_udev_rule_is_reported_for_its_devices_alone(machine, name):
    rules, expected = RULES[name]
    machine.put("run/udev/data/b8:0", "E:ID_VENDOR=PURE\nG:systemd")
    machine.put("run/udev/data/b253:0", "E:DM_UUID=mpath-3600")
    machine.put(f"usr/lib/udev/rules.d/60-{name}.rules", rules)
    place = f"udev rule /usr/lib/udev/rules.d/60-{name}.rules:"
    for device, end in expected.items():
        assert begins(machine.of(device)) == [NONE if end is None else f"{place}{end}"], device


def test_rules_are_in_the_order_of_udev_and_a_masked_one_is_left_out(machine):
    rule = 'KERNEL=="sda", ATTR{queue/read_ahead_kb}="%d"'
    for folder, name, kb in (
        ("usr/lib", "99-vendor", 1),
        ("etc", "60-site", 2),
        ("usr/lib", "60-masked", 3),
        ("etc", "60-masked", 4),
    ):
        machine.put(f"{folder}/udev/rules.d/{name}.rules", rule % kb)
    machine.put("etc/udev/rules.d/60-masked.rules", "")
    assert begins(machine.of("sda")) == [
        "udev rule /etc/udev/rules.d/60-site.rules:1 sets 2 KiB",
        "udev rule /usr/lib/udev/rules.d/99-vendor.rules:1 sets 1 KiB",
    ]
    assert all("99-zz-foreread.rules" in one for one in machine.of("sda"))


TEXTS = {
    "etc/rc.local": ("echo 4096 > /sys/block/sda/queue/read_ahead_kb", {"sda": "1 sets 4096 KiB"}),
    "etc/systemd/system/ra.service": (
        "[Service]\nExecStart=/sbin/blockdev --setra 1024 /dev/sda1",
        {"sda": "2 sets 1024 sectors of 512 bytes", "dm-0": None},
    ),
    "usr/lib/tmpfiles.d/ra.conf": (
        "w /sys/block/dm-*/queue/read_ahead_kb - - - - 512",
        {"dm-0": "1 sets 512 KiB", "sda": None},
    ),
    "etc/sysfs.conf": ("block/sda/queue/read_ahead_kb = 64", {"sda": "1 sets 64 KiB"}),
    # init.qcom.post_boot.sh: every dm and mmc device, after the boot
    "vendor/bin/init.qcom.post_boot.sh": (
        "dmpts=$(ls /sys/block/*/queue/read_ahead_kb | grep -e dm -e mmc)\n"
        "if [ -f /sys/block/mmcblk0/bdi/read_ahead_kb ]; then\n"
        "    echo $ra_kb > /sys/block/mmcblk0/bdi/read_ahead_kb\nfi\n"
        "for dm in $dmpts; do\n    echo $ra_kb > $dm\ndone",
        {"dm-0": "1 sets it", "mmcblk0": "1 sets it|3 sets it"},
    ),
    "vendor/etc/init/hw/init.qcom.rc": (
        "on late-fs\n    write /sys/block/sda/queue/read_ahead_kb 2048\n"
        "    write /sys/block/dm-0/queue/read_ahead_kb 2048",
        {"sda": "2 sets 2048 KiB", "dm-0": "3 sets 2048 KiB", "mmcblk0": None},
    ),
    "data/adb/service.d/tweaks.sh": (
        "set_io() {\n  write $2/queue/read_ahead_kb 128\n}",
        {"sda": "2 may set 128 KiB", "dm-0": "2 may set 128 KiB"},
    ),
    "system/etc/init.d/S98screenstate": (
        'for f in /sys/block/mmcblk*/queue; do\n  echo "1024" > "$f"/read_ahead_kb;\ndone\n'
        "echo 512 > /sys/devices/virtual/bdi/179:0/read_ahead_kb",
        {"mmcblk0": "2 may set 1024 KiB|4 sets 512 KiB", "sda": "2 may set 1024 KiB"},
    ),
    "vendor/bin/early.sh": (
        "for i in dm-0 sda sdb; do\n"
        "  [ -e /sys/block/$i/queue/read_ahead_kb ] && "
        "echo 2048 > /sys/block/$i/queue/read_ahead_kb\ndone\nblockdev --setra 256 /dev/block/$i",
        {"dm-0": "2 may set 2048 KiB|4 may set 256 sectors of 512 bytes"},
    ),
    "init.board.rc": (
        "on boot\n    chmod 660 /sys/block/mmcblk0/queue/read_ahead_kb\n"
        "    # Default Read Ahead value for sdcards\n"
        "    write /sys/block/mmcblk0/queue/read_ahead_kb 2048",
        {"mmcblk0": "4 sets 2048 KiB", "sda": None},
    ),
    "etc/init.d/other": (
        "cat /sys/block/sda/queue/read_ahead_kb\n# echo 1 > /sys/block/sda/queue/read_ahead_kb\n"
        "chmod 0644 /sys/block/sda/queue/read_ahead_kb\n"
        'read -r kb </sys/block/sda/queue/read_ahead_kb; [ "$kb" = 64 ] || exit 0\n'
        "echo 1 > /sys/block/sdb/queue/read_ahead_kb",
        {"sda": None},
    ),
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_line_of_a_service_or_a_script_is_reported_for_its_devices_alone(machine, name):
    text, expected = TEXTS[name]
    machine.put(name, text)
    for device, ends in expected.items():
        found = [re.sub(r" \(.*", "", one) for one in machine.of(device)]
        wanted = [NONE] if ends is None else [f"/{name}:{end}" for end in ends.split("|")]
        assert found == wanted, device


def test_a_script_that_a_service_runs_is_read(machine):
    machine.put("etc/systemd/system/tune.service", "ExecStart=-/opt/tune --all")
    machine.put(
        "opt/tune", "#!/bin/sh\nfor f in /sys/block/*/queue/read_ahead_kb; do echo 8 >$f; done"
    )
    unit = machine.path("etc/systemd/system/tune.service")
    unit.write_text(unit.read_text().replace("/opt", f"{machine.root}/opt"))
    (sentence,) = machine.of("sda")
    assert sentence.startswith("/opt/tune:2 sets ")


def test_tuned_is_followed_through_its_included_profiles(machine):
    machine.put("etc/tuned/active_profile", "mine")
    machine.put("etc/tuned/mine/tuned.conf", "[main]\ninclude=throughput-performance")
    machine.put(
        "usr/lib/tuned/throughput-performance/tuned.conf",
        "[sysctl]\nvm.swappiness=10\n[disk]\nreadahead=>4096",
    )
    (sentence,) = machine.of("sda")
    assert sentence.startswith(
        "tuned profile throughput-performance (/usr/lib/tuned/throughput-performance/tuned.conf:4) "
        "sets it, readahead=>4096"
    )
    assert machine.of("dm-0") == [NONE]


def test_lvm_is_named_for_its_volumes(machine):
    machine.put("sys/block/dm-0/dm/uuid", "LVM-abc")
    (sentence,) = machine.of("dm-0")
    assert "lvchange --readahead" in sentence


def test_own_files_are_not_reported(machine):
    rule = 'KERNEL=="sda", ATTR{queue/read_ahead_kb}="32"'
    machine.put("etc/udev/rules.d/99-zz-foreread.rules", rule)
    machine.put("etc/init.d/S05foreread", "echo 32 > /sys/block/sda/queue/read_ahead_kb")
    assert machine.of("sda") == [NONE]


def test_shellcheck_passes_on_the_program(tmp_path):
    program = tmp_path / "program"
    program.write_text(origin.program())
    done = subprocess.run(["shellcheck", program], capture_output=True, text=True, check=False)
    assert done.stdout + done.stderr == ""
