"""Words that are shown alone: no look tells a title from a key or a name."""

from __future__ import annotations

SHOWN = """
    &Add_▾ &Address &Back &Browse… &Cancel &Check &Colours &Continue &Copy &Differences &Edit
    &Engines &Export &File &Find &First &Folder… &Help &Kernel &Kind &Name &Next &Open &Other…
    &Remove &Remove… &Revert &Run &Save &Settings &Stop &Use &Values &View &Wheels Accesses
    Advice Again Apply Architecture Arithmetic Automatic Axis Back Bandwidth Batches Block
    Blocks Budget C&hoose… C&lose Caches Calibrate Calibration Cancel Chart Charts Choices
    Choose Clear Close Cluster Code Columns_▾ Command Commands Compare Compared Comparing
    Comparison Configuration Connecting… Continue Copy Counting… Dark Data Delete Details Device
    Devices Distribution Doctor Doctor… Energy Engine Engines Engines… Environment Estimate
    Exercise Explore Export Export… F&ormat Figures File From Group Guess Help History Inputs
    Instructions Intensity Interpreter… Kept. Kernel Kernels Knobs Lab Ladder Language Launch
    Launches Learn Lessons Library Light Live Main Measure Measured. Measuring… Median Medians
    Memory Missing Models Next Noise None Note Notes Occupancy On Open Operators Orientation
    Package Packages Page Pause Pin Places Point Precision Precisions Present Problem Programs
    Questions_▾ Quit Random Range Rate Reasons Recording… Redo Refused Registers Report…
    Res&tore Roofline Rungs Runs S&econd Samples Scaling Script Search Seconds Self-test
    Self-test… Session Shapes Show Si&ze Size Sizes Solved. Source Space Spilled Stack
    Start Starting Starting… Stop Stopping… Store Structure Subject Sweep Sweeps Switches Tags
    Tags… Threads Throughput Time Title Total Tune Tuning Turns U&ndo Undo Up&date Variant
    Variants Vary Verdicts Version Welcome Why Why? Workload Yours Zeros
"""
"""Words that begin with a large letter; ``_`` stands for a space."""
NAMES = """
    Accept-Encoding AuthenticAMD GenuineIntel VendorIdentifier Ada Ampere Array Authorization
    BatchMode Blackwell Bt Cache ClearAllForwardings CompilationFailedConfig Compression
    ConnectTimeout Content-Length ControlMaster CuPy CudaBackend Darwin MachineGuid Date Del
    Deletion Deviation DeviceToDevice DeviceToHost Document EnvironmentPlan ErrorConfig Esc
    Escape Fill ForwardAgent Fusion Gbyte Gi Hopper HostToDevice Hz ImageView
    Instruction Intel Inter InvalidConfig JaxBackend Kbyte Keras KerasBackend KernelFigures Ki
    KilledWorker Linux LogLevel Managed MapRequest Max Mbyte Mi Min NumPy NumpyBackend Offending
    OpenCL OpenCLBackend OutOfMemoryError Parquet PermitLocalCommand Phases ProcessorNameString
    PyOpenCL PyTorch Python Qt QtCore QtGui QtWidgets Query ReferenceModel RemoteCommand
    RequestTTY ResourceExhaustedError Return Row RuntimeFailedConfig Says Scripts
    ServerAliveCountMax ServerAliveInterval SetUpProgress SimHei Softmax SyntaxError Tbyte
    TensorFlow TensorFlowBackend TorchBackend TunedEntry Turing User-Agent Walltime Wd Windows
    Wo Wqkv Wu
"""
"""Others that do: names, keys of files, options of other programs."""
SMALL = """
    access accesses activations added advice all allocate allowed alone analysed arithmetic array
    arrays bandwidth barriers baseline before begun beside best block blocks board cache caches
    calibrated calibrating calibration calls cancelled cannot ceiling change changed check checks
    chosen clock cold combination commands compare compared comparing comparison compile compiled
    compulsory compute configuration configurations conflicts control conversion counted counters
    damaged default delete deleted device devices difference differences display document done
    download downloading driver drivers effect empty ended energy engine engines entry error errors
    evaluations everything everywhere exact exercise export failed fallback far faster figure
    figures file files finished finishing folder folders free full gradients group hardware highest
    history hot how idle implementations inputs install installing instructions integer integers
    interpreter interrupted job jobs kernel kernels kind largest launch launches left lesson lessons
    libraries line linear live load log long lost machine measured measuring median medians memory
    minutes model name needed noise none normal note notes nothing number numbers occupancy operator
    operators optimiser options other others outcome outliers output outputs package packages passed
    passes peak person phases pinned place plan points power precision precisions predicted program
    programs rate ratio read ready reference refused registers remarks remedy request requested
    requests result rounds run rung rungs running runs same sample samples seconds section sectors
    seed self shapes share size sizes skipped slower source space speed speed-up stack standing
    starred start starting state stopped stopping study sum sums suspect suspended sweep swept
    switch switches system tag tags temperature tensor text thread threads throttled throughput time
    timing title today tolerance total transfer transfers trust tunable tunables tuned tuning turns
    uniform units unknown untouched usage used user value variant variants verdict verified
    verifying version versions voltage waiting warning weights what when where window work workload
    workloads workspace write wrong yes yesterday yours zeros
"""
"""Words that begin with a small letter."""


def words(text: str) -> frozenset[str]:
    """Return the words of a list above."""
    return frozenset(word.replace("_", " ") for word in text.split())
