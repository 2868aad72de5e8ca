/* A libnvidia-ml.so.1 without a driver behind it, for tests that run the real nvidia-ml-py.
 *
 * What it answers stands in the text file named by FAKE_NVML_STATE, which is read at each call, so a test can
 * change it while the program runs. One "key value" a line; "N." means GPU N, "*." all of them:
 *   count 8            driver 590.48.01
 *   *.total 1000       0.used 10       0.name NVIDIA H200
 *   0.proc.0 4242 8000000000           0.proc.1 4243 NA        (numbered from 0; third word: MIG instance)
 *   0.mig 1            0.mig.0.total 500                       (instances numbered from 0)
 *   fail.nvmlDeviceGetName 3           1.fail.nvmlDeviceGetMemoryInfo_v2 15
 *   delay_ms 30000                     delay_ms.nvmlDeviceGetName 100
 * Without the variable the library says that it is not there (code 12).
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define API __attribute__((visibility("default")))
#define GPUS 32
#define PARTS 8

enum { OK = 0, UNINITIALIZED = 1, BAD_ARGUMENT = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6, TOO_SMALL = 7, NO_LIBRARY = 12, BAD_VERSION = 25 };

typedef unsigned int u32;
typedef unsigned long long u64;
typedef struct { int gpu, part; } device;

static device whole[GPUS], parts[GPUS][PARTS];
static int users = 0;

/* The value of a key, or NULL; the answer is valid until the next call in this thread. */
static const char *text(const char *key) {
    static __thread char line[512];
    const char *path = getenv("FAKE_NVML_STATE");
    FILE *file = path ? fopen(path, "r") : NULL;
    size_t size = strlen(key);
    const char *found = NULL;
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\r\n")] = 0;
        if (!strncmp(line, key, size) && line[size] == ' ') { found = line + size + 1; break; }
    }
    if (file) fclose(file);
    return found;
}

static const char *of(const device *d, const char *key) {
    char name[160];
    const char *found;
    if (!d) return text(key);
    if (d->part >= 0) {
        snprintf(name, sizeof name, "%d.mig.%d.%s", d->gpu, d->part, key);
        return text(name);
    }
    snprintf(name, sizeof name, "%d.%s", d->gpu, key);
    if ((found = text(name))) return found;
    snprintf(name, sizeof name, "*.%s", key);
    return text(name);
}

static u64 number(const device *d, const char *key, u64 otherwise) {
    const char *found = of(d, key);
    return found ? strtoull(found, NULL, 0) : otherwise;
}

static void wait_ms(u64 ms) {
    struct timespec t = {(time_t)(ms / 1000), (long)(ms % 1000) * 1000000L};
    if (ms) nanosleep(&t, NULL);
}

static int enter(const char *function, const device *d) {
    char key[160];
    if (!getenv("FAKE_NVML_STATE")) return NO_LIBRARY;
    wait_ms(number(NULL, "delay_ms", 0));
    snprintf(key, sizeof key, "delay_ms.%s", function);
    wait_ms(number(NULL, key, 0));
    snprintf(key, sizeof key, "fail.%s", function);
    u64 code = number(NULL, key, 0);
    if (!code && d) code = number(d, key, 0);
    if (!code && d && number(d, "lost", 0)) code = 15;
    return (int)code;
}

#define ENTER(d) do { int code_ = enter(__func__, d); if (code_) return code_; if (!users) return UNINITIALIZED; } while (0)
#define NUMBER(name, type, key, otherwise) \
    API int name(const device *d, type *out) { ENTER(d); *out = (type)number(d, key, otherwise); return OK; }

static int put(char *out, u32 size, const char *value) {
    if (strlen(value) + 1 > size) return TOO_SMALL;
    strcpy(out, value);
    return OK;
}

API int nvmlInitWithFlags(u32 flags) {
    (void)flags;
    int code = enter(__func__, NULL);
    if (code) return code;
    for (int i = 0; i < GPUS; i++) {
        whole[i] = (device){i, -1};
        for (int j = 0; j < PARTS; j++) parts[i][j] = (device){i, j};
    }
    users++;
    return OK;
}
API int nvmlShutdown(void) { if (!users) return UNINITIALIZED; users--; return OK; }
API const char *nvmlErrorString(int code) { (void)code; return "an error of the fake"; }
API int nvmlSystemGetDriverVersion(char *out, u32 size) { ENTER(NULL); const char *v = text("driver"); return put(out, size, v ? v : "590.48.01"); }
API int nvmlDeviceGetCount_v2(u32 *out) { ENTER(NULL); *out = (u32)number(NULL, "count", 0); return OK; }
API int nvmlDeviceGetHandleByIndex_v2(u32 i, const device **out) {
    if (i >= GPUS) return BAD_ARGUMENT;
    ENTER(NULL);
    char key[64];
    snprintf(key, sizeof key, "fail.%s", __func__);
    int code = (int)number(&whole[i], key, 0);
    if (code) return code;
    if (i >= number(NULL, "count", 0)) return BAD_ARGUMENT;
    *out = &whole[i];
    return OK;
}

API int nvmlDeviceGetName(const device *d, char *out, u32 size) { ENTER(d); const char *v = of(d, "name"); return put(out, size, v ? v : "NVIDIA H200"); }
API int nvmlDeviceGetUUID(const device *d, char *out, u32 size) {
    ENTER(d);
    char made[64];
    if (d->part >= 0) snprintf(made, sizeof made, "MIG-%08d-%04d", d->gpu, d->part);
    else snprintf(made, sizeof made, "GPU-%08d-aaaa", d->gpu);
    return put(out, size, made);
}
typedef struct { char legacy[16]; u32 domain, bus, device, id, subsystem; char bus_id[32]; } pci;
API int nvmlDeviceGetPciInfo_v3(const device *d, pci *out) {
    ENTER(d);
    memset(out, 0, sizeof *out);
    const char *v = of(d, "bus");
    if (v) snprintf(out->bus_id, sizeof out->bus_id, "%s", v);
    else snprintf(out->bus_id, sizeof out->bus_id, "00000000:%02X:00.0", 0x1B + d->gpu);
    return OK;
}

typedef struct { u64 total, free, used; } memory_1;
typedef struct { u32 version; u64 total, reserved, free, used; } memory_2;
static memory_2 memory_of(const device *d) {
    memory_2 m = {0, number(d, "total", 150754820096ULL), number(d, "reserved", 600000000ULL), 0, number(d, "used", 120000000000ULL)};
    m.free = m.used + m.reserved > m.total ? 0 : m.total - m.used - m.reserved;
    return m;
}
API int nvmlDeviceGetMemoryInfo(const device *d, memory_1 *out) {
    ENTER(d);
    memory_2 m = memory_of(d);
    *out = (memory_1){m.total, m.free, m.used + m.reserved};
    return OK;
}
API int nvmlDeviceGetMemoryInfo_v2(const device *d, memory_2 *out) {
    ENTER(d);
    if (out->version != ((2u << 24) | (u32)sizeof *out)) return BAD_VERSION;
    memory_2 m = memory_of(d);
    m.version = out->version;
    *out = m;
    return OK;
}

typedef struct { u32 pid; u64 used; u32 gpu_instance, compute_instance; } process;
static int processes(const device *d, const char *kind, u32 *count, process *out) {
    process found[64];
    u32 n = 0;
    for (; n < 64; n++) {
        char key[64], bytes[32] = "NA";
        unsigned pid = 0, instance = 0xFFFFFFFFu;
        snprintf(key, sizeof key, "%s.%u", kind, n);
        const char *v = of(d, key);
        if (!v || sscanf(v, "%u %31s %u", &pid, bytes, &instance) < 1) break;
        found[n] = (process){pid, strcmp(bytes, "NA") ? strtoull(bytes, NULL, 10) : ~0ULL, instance, 0xFFFFFFFFu};
    }
    u32 room = *count;
    *count = n;
    if (!n) return OK;
    if (!out || room < n) return TOO_SMALL;
    memcpy(out, found, n * sizeof *out);
    return OK;
}
API int nvmlDeviceGetComputeRunningProcesses_v3(const device *d, u32 *n, process *out) { ENTER(d); return processes(d, "proc", n, out); }
API int nvmlDeviceGetGraphicsRunningProcesses_v3(const device *d, u32 *n, process *out) { ENTER(d); return processes(d, "graphics", n, out); }
API int nvmlDeviceGetMPSComputeRunningProcesses_v3(const device *d, u32 *n, process *out) { ENTER(d); return processes(d, "mps", n, out); }

typedef struct { u32 gpu, memory; } rates;
API int nvmlDeviceGetUtilizationRates(const device *d, rates *out) { ENTER(d); *out = (rates){(u32)number(d, "gpu_util", 90), (u32)number(d, "mem_util", 40)}; return OK; }
typedef struct { u32 version, sensor; int temperature; } heat;
API int nvmlDeviceGetTemperatureV(const device *d, heat *out) { ENTER(d); out->temperature = (int)number(d, "temp", 61); return OK; }
API int nvmlDeviceGetTemperature(const device *d, u32 sensor, u32 *out) { (void)sensor; ENTER(d); *out = (u32)number(d, "temp", 61); return OK; }
NUMBER(nvmlDeviceGetPowerUsage, u32, "power", 512000)
NUMBER(nvmlDeviceGetEnforcedPowerLimit, u32, "power_limit", 700000)
API int nvmlDeviceGetClockInfo(const device *d, u32 kind, u32 *out) { ENTER(d); *out = (u32)number(d, kind == 2 ? "mem_clock" : "sm_clock", kind == 2 ? 3201 : 1980); return OK; }
API int nvmlDeviceGetMaxClockInfo(const device *d, u32 kind, u32 *out) { ENTER(d); *out = (u32)number(d, kind == 2 ? "mem_clock_max" : "sm_clock_max", kind == 2 ? 3201 : 1980); return OK; }
NUMBER(nvmlDeviceGetCurrentClocksEventReasons, u64, "reasons", 0)
NUMBER(nvmlDeviceGetCurrentClocksThrottleReasons, u64, "reasons", 0)
NUMBER(nvmlDeviceGetMemoryBusWidth, u32, "bus_width", 6144)

NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, u32, "pcie_gen", 5)
NUMBER(nvmlDeviceGetMaxPcieLinkGeneration, u32, "pcie_gen_max", 5)
NUMBER(nvmlDeviceGetCurrPcieLinkWidth, u32, "pcie_width", 16)
NUMBER(nvmlDeviceGetMaxPcieLinkWidth, u32, "pcie_width_max", 16)
NUMBER(nvmlDeviceGetPcieReplayCounter, u32, "pcie_replays", 0)
API int nvmlDeviceGetPcieThroughput(const device *d, u32 kind, u32 *out) { ENTER(d); *out = (u32)number(d, kind ? "pcie_rx" : "pcie_tx", kind ? 2000 : 1000); return OK; }
API int nvmlDeviceGetNvLinkState(const device *d, u32 link, u32 *out) {
    ENTER(d);
    u64 links = number(d, "nvlinks", 18);
    if (!links) return NOT_SUPPORTED;
    if (link >= links) return BAD_ARGUMENT;
    *out = link < number(d, "nvlinks_up", links);
    return OK;
}

API int nvmlDeviceGetEccMode(const device *d, u32 *now, u32 *next) { ENTER(d); *now = *next = (u32)number(d, "ecc", 1); return OK; }
API int nvmlDeviceGetTotalEccErrors(const device *d, u32 kind, u32 counter, u64 *out) { ENTER(d); (void)counter; *out = number(d, kind ? "ecc_uncorrected" : "ecc_corrected", 0); return OK; }
API int nvmlDeviceGetRemappedRows(const device *d, u32 *corrected, u32 *uncorrected, u32 *pending, u32 *failed) {
    ENTER(d);
    *corrected = (u32)number(d, "rows_corrected", 0);
    *uncorrected = (u32)number(d, "rows_uncorrected", 0);
    *pending = (u32)number(d, "rows_pending", 0);
    *failed = (u32)number(d, "rows_failed", 0);
    return OK;
}

API int nvmlDeviceGetMigMode(const device *d, u32 *now, u32 *next) { ENTER(d); *now = *next = (u32)number(d, "mig", 0); return OK; }
NUMBER(nvmlDeviceGetMaxMigDeviceCount, u32, "mig_slots", 7)
API int nvmlDeviceGetMigDeviceHandleByIndex(const device *d, u32 i, const device **out) {
    ENTER(d);
    if (i >= PARTS || !of(&parts[d->gpu][i], "total")) return NOT_FOUND;
    *out = &parts[d->gpu][i];
    return OK;
}
NUMBER(nvmlDeviceGetGpuInstanceId, u32, "gpu_instance", 1)
NUMBER(nvmlDeviceGetComputeInstanceId, u32, "compute_instance", 0)
