/* SPDX-License-Identifier: Apache-2.0 */
/* Colours and widths of call graphs, with gprof2dot's values. */
#include "export/dot.h"
#include <math.h>

#define FONT .font_least = 10, .font_most = 10
#define PENS .pen_least = 0.5, .pen_most = 4

const struct dot_style dot_styles[] = {
    [DOT_COLOR] =
        {{2.0 / 3, 0.8, 0.25}, {0, 1, 0.5}, .gamma = 1, .filled = true, FONT, PENS},
    [DOT_PINK] = {{0, 1, 0.9}, {0, 1, 0.5}, .gamma = 2.2, .filled = true, FONT, PENS},
    [DOT_GRAY] = {{0, 0, 0.85}, {0, 0, 0}, .gamma = 2.2, .filled = true, FONT, PENS},
    [DOT_BW] = {{0, 0, 0},
                {0, 0, 0},
                .gamma = 2.2,
                .filled = true,
                .font_least = 8,
                .font_most = 24,
                .pen_least = 0.1,
                .pen_most = 8},
    [DOT_PRINT] = {{0, 0, 0},
                   {0, 0, 0},
                   .gamma = 2.2,
                   .font_least = 18,
                   .font_most = 30,
                   .pen_least = 0.1,
                   .pen_most = 8},
};

static double channel(double low, double high, double hue)
{
    hue -= floor(hue);
    if (hue * 6 < 1)
        return low + (high - low) * hue * 6;
    if (hue * 2 < 1)
        return high;
    if (hue * 3 < 2)
        return low + (high - low) * (2.0 / 3 - hue) * 6;
    return low;
}

static unsigned char byte_of(double v, double gamma)
{
    double light = v > 0 ? pow(v > 1 ? 1 : v, gamma) : 0;
    return (unsigned char)(light * 255 + 0.5);
}

static struct dot_rgb from_hsl(double h, double s, double l, double gamma)
{
    double high = l <= 0.5 ? l * (s + 1) : l + s - l * s;
    double low = l * 2 - high;
    return (struct dot_rgb){byte_of(channel(low, high, h + 1.0 / 3), gamma),
                            byte_of(channel(low, high, h), gamma),
                            byte_of(channel(low, high, h - 1.0 / 3), gamma)};
}

struct dot_rgb dot_color_of(const struct dot_style *s, double weight, double skew)
{
    double at = weight > 1 ? 1 : weight > 0 ? weight : 0, v[3];
    bool linear = skew > 0.999 && skew < 1.001;
    if (!linear)
        at = (pow(skew, at) - 1) / (skew - 1);
    for (int i = 0; i < 3; i++)
        v[i] = s->low[i] + at * (s->high[i] - s->low[i]);
    return from_hsl(v[0], v[1], v[2], s->gamma);
}

/* Small changes are gray; a change of 25 percentage points has the full colour. */
struct dot_rgb dot_change_color(double change)
{
    double strength = sqrt(fabs(change) * 4);
    strength = strength > 1 ? 1 : strength;
    return from_hsl(change < 0 ? 2.0 / 3 : 0, strength, 0.45, 1);
}

static double linear(unsigned char v)
{
    double x = v / 255.0;
    return x <= 0.04045 ? x / 12.92 : pow((x + 0.055) / 1.055, 2.4);
}

double dot_luminance(struct dot_rgb c)
{
    return 0.2126 * linear(c.red) + 0.7152 * linear(c.green) + 0.0722 * linear(c.blue);
}

#define TEXT_LUMINANCE 0.183 /* contrast to white: 4.5, the least of WCAG 2 for text */

struct dot_rgb dot_on_white(struct dot_rgb c)
{
    struct dot_rgb dark = c;
    for (unsigned part = 255; part > 0 && dot_luminance(dark) > TEXT_LUMINANCE; part--)
        dark = (struct dot_rgb){(unsigned char)(c.red * part / 255),
                                (unsigned char)(c.green * part / 255),
                                (unsigned char)(c.blue * part / 255)};
    return dark;
}
