// Colours as far as hidden text needs them: can this be read on that?

/** Channels from 0 to 255, alpha from 0 to 1. */
export type Color = { readonly red: number; readonly green: number; readonly blue: number; readonly alpha: number }

export const white: Color = { red: 255, green: 255, blue: 255, alpha: 1 }

const nearest = 24
const faintest = 0.06
const named: Readonly<Record<string, string>> = {
  white: 'ffffff',
  black: '000000',
  transparent: '00000000',
  snow: 'fffafa',
  ivory: 'fffff0',
  azure: 'f0ffff',
  whitesmoke: 'f5f5f5',
  ghostwhite: 'f8f8ff',
  floralwhite: 'fffaf0',
  mintcream: 'f5fffa',
  red: 'ff0000',
  silver: 'c0c0c0',
  lightgray: 'd3d3d3',
  lightgrey: 'd3d3d3',
  gray: '808080',
  grey: '808080',
  navy: '000080',
  blue: '0000ff',
  green: '008000',
  yellow: 'ffff00',
  orange: 'ffa500',
  maroon: '800000',
  purple: '800080',
}

/** Undefined for what cannot be told without a browser: pictures, gradients, variables. */
export function parseColor(value: string | undefined): Color | undefined {
  if (value === undefined) return undefined
  const word = value.trim().toLowerCase()
  const hex = named[word] ?? /^#?((?:[0-9a-f]{3,4}){1,2})$/.exec(word)?.[1]
  if (hex !== undefined) return ofHex(hex)
  const call = /^(rgb|hsl)a?\(([^()]*)\)$/.exec(word)
  const numbers = (call?.[2] ?? '').split(/[\s,/]+/).filter((each) => each !== '')
  if (call === null || numbers.length < 3 || numbers.length > 4) return undefined
  return call[1] === 'rgb' ? ofRgb(numbers) : ofHsl(numbers)
}

/** Whether the words cannot be told from what is behind them. */
export function isUnreadable(text: Color, behind: Color | undefined): boolean {
  if (text.alpha <= faintest) return true
  if (behind === undefined || behind.alpha <= faintest) return false
  const distances = [text.red - behind.red, text.green - behind.green, text.blue - behind.blue]
  return distances.every((each) => Math.abs(each) <= nearest)
}

function ofHex(hex: string): Color {
  const digits = hex.length <= 4 ? [...hex].map((digit) => digit + digit).join('') : hex
  const [red = 0, green = 0, blue = 0, alpha = 255] = (digits.match(/../g) ?? []).map((pair) =>
    Number.parseInt(pair, 16),
  )
  return { red, green, blue, alpha: alpha / 255 }
}

function ofRgb(numbers: readonly string[]): Color | undefined {
  const [red, green, blue] = numbers.map((each) => parseShare(each, 255))
  const alpha = parseShare(numbers[3] ?? '1', 1)
  if (red === undefined || green === undefined || blue === undefined || alpha === undefined) return undefined
  return { red, green, blue, alpha }
}

/** Only black, white and greys matter for hiding, so the hue is left out when there is no saturation; else: unknown. */
function ofHsl(numbers: readonly string[]): Color | undefined {
  const saturation = parseShare(numbers[1] ?? '', 1)
  const lightness = parseShare(numbers[2] ?? '', 1)
  const alpha = parseShare(numbers[3] ?? '1', 1)
  if (saturation === undefined || lightness === undefined || alpha === undefined) return undefined
  const isGrey = saturation <= 0.05 || lightness <= 0.02 || lightness >= 0.98
  if (!isGrey && alpha > faintest) return undefined
  const level = lightness * 255
  return { red: level, green: level, blue: level, alpha }
}

function parseShare(text: string, whole: number): number | undefined {
  const match = /^([\d.]+)(%)?$/.exec(text)
  if (match === null) return undefined
  const value = match[2] === undefined ? Number(match[1]) : (Number(match[1]) / 100) * whole
  return Number.isFinite(value) ? value : undefined
}
