#include "cli/save.h"
#include "os/file.h"

bool save_profile(const struct exporter *e, const struct profile *p,
                  const struct export_options *options, const char *path,
                  struct error *err)
{
    struct os_output file;
    if (!os_output_open(&file, path, err))
        return false;
    struct output out = os_output_stream(&file);
    bool ok = e->write(p, options, &out, err);
    if (ok)
        ok = os_output_close(&file, &out, err);
    else
        os_output_abandon(&file);
    output_deinit(&out);
    return ok;
}
