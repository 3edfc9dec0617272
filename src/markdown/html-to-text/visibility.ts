// Visibility of HTML elements: whether a reader sees their words. Text that only a machine would find is how instructions are
// smuggled in. Limits: style attributes and attributes only. Style sheets, pictures behind text and scripts are not looked at.

// Colours as far as hidden text needs them: can this be read on that?

/** Channels from 0 to 255, alpha from 0 to 1. */
type Color = { readonly red: number; readonly green: number; readonly blue: number; readonly alpha: number }

const white: Color = { red: 255, green: 255, blue: 255, alpha: 1 }

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
function parseColor(value: string | undefined): Color | undefined {
  if (value === undefined) return undefined
  const word = value.trim().toLowerCase()
  const hex = named[word] ?? /^#?((?:[0-9a-f]{3,4}){1,2})$/.exec(word)?.[1]
  if (hex !== undefined) return parseHexColor(hex)
  const call = /^(rgb|hsl)a?\(([^()]*)\)$/.exec(word)
  const numbers = (call?.[2] ?? '').split(/[\s,/]+/).filter((each) => each !== '')
  if (call === null || numbers.length < 3 || numbers.length > 4) return undefined
  return call[1] === 'rgb' ? parseRgbColor(numbers) : parseHslColor(numbers)
}

/** Whether the words cannot be told from what is behind them. */
function isTextUnreadable(text: Color, behind: Color | undefined): boolean {
  if (text.alpha <= faintest) return true
  if (behind === undefined || behind.alpha <= faintest) return false
  const distances = [text.red - behind.red, text.green - behind.green, text.blue - behind.blue]
  return distances.every((each) => Math.abs(each) <= nearest)
}

function parseHexColor(hex: string): Color {
  const digits = hex.length <= 4 ? [...hex].map((digit) => digit + digit).join('') : hex
  const [red = 0, green = 0, blue = 0, alpha = 255] = (digits.match(/../g) ?? []).map((pair) =>
    Number.parseInt(pair, 16),
  )
  return { red, green, blue, alpha: alpha / 255 }
}

function parseRgbColor(numbers: readonly string[]): Color | undefined {
  const [red, green, blue] = numbers.map((each) => parseNumberOrPercent(each, 255))
  const alpha = parseNumberOrPercent(numbers[3] ?? '1', 1)
  if (red === undefined || green === undefined || blue === undefined || alpha === undefined) return undefined
  return { red, green, blue, alpha }
}

/** Only black, white and greys matter for hiding, so the hue is left out when there is no saturation; else: unknown. */
function parseHslColor(numbers: readonly string[]): Color | undefined {
  const saturation = parseNumberOrPercent(numbers[1] ?? '', 1)
  const lightness = parseNumberOrPercent(numbers[2] ?? '', 1)
  const alpha = parseNumberOrPercent(numbers[3] ?? '1', 1)
  if (saturation === undefined || lightness === undefined || alpha === undefined) return undefined
  const isGrey = saturation <= 0.05 || lightness <= 0.02 || lightness >= 0.98
  if (!isGrey && alpha > faintest) return undefined
  const level = lightness * 255
  return { red: level, green: level, blue: level, alpha }
}

function parseNumberOrPercent(text: string, whole: number): number | undefined {
  const match = /^([\d.]+)(%)?$/.exec(text)
  if (match === null) return undefined
  const value = match[2] === undefined ? Number(match[1]) : (Number(match[1]) / 100) * whole
  return Number.isFinite(value) ? value : undefined
}

export type Attributes = ReadonlyMap<string, string>

/** What an element hands down to its children. */
export type Visibility = {
  /** Hidden in a way that no child can undo. */
  readonly isGone: boolean
  readonly isVisible: boolean
  readonly isTiny: boolean
  /** Undefined: not set, so it counts as readable. */
  readonly color: Color | undefined
  /** Undefined: unknown, a picture for example. */
  readonly background: Color | undefined
  /** Spaces and line ends are kept as written. */
  readonly keepsSpace: boolean
}

/** A page without styles is white. */
export const plainLook: Visibility = {
  isGone: false,
  isVisible: true,
  isTiny: false,
  color: undefined,
  background: white,
  keepsSpace: false,
}

export function isShownToReader(look: Visibility): boolean {
  return (
    !look.isGone &&
    look.isVisible &&
    !look.isTiny &&
    !(look.color !== undefined && isTextUnreadable(look.color, look.background))
  )
}

const farAway = -200
const styling = ['style', 'hidden', 'class', 'color', 'bgcolor', 'background', 'width', 'height'] as const
const keepingTags = new Set(['pre', 'listing'])

export function computeVisibility(parent: Visibility, name: string, attributes: Attributes): Visibility {
  const look = applyTagVisibility(parent, name, attributes)
  if (attributes.size === 0 || !styling.some((each) => attributes.has(each))) return look
  const style = parseInlineStyle(attributes.get('style'))
  return {
    isGone:
      look.isGone ||
      isHiddenByAttribute(name, attributes) ||
      isHiddenByStyle(style) ||
      isOffScreen(style) ||
      isEmptyClippedBox(style),
    isVisible: isVisibleByStyle(look.isVisible, style.get('visibility')),
    isTiny: isTinyFont(look.isTiny, style.get('font-size') ?? readFontSize(style.get('font'))),
    color: textColor(look, style, attributes.get('color')),
    background: backgroundColor(look, style, attributes),
    keepsSpace: keepsWhiteSpace(look.keepsSpace, style.get('white-space')),
  }
}

/** Some tags say nothing; a link has its own colour unless a style sets another. */
function applyTagVisibility(parent: Visibility, name: string, attributes: Attributes): Visibility {
  const isShut = name === 'dialog' && !attributes.has('open')
  if (isShut || silentTags.has(name)) return { ...parent, isGone: true }
  if (name === 'a' && parent.color !== undefined) return { ...parent, color: undefined }
  return keepingTags.has(name) ? { ...parent, keepsSpace: true } : parent
}

/** `invisible` is how fediverse posts hide the dull parts of an address; the address itself is in the link. */
function isHiddenByAttribute(name: string, attributes: Attributes): boolean {
  const isSpeck = name === 'img' && [attributes.get('width'), attributes.get('height')].some(isAtMostOnePixel)
  const classes = attributes.get('class')?.split(/\s+/)
  return attributes.has('hidden') || classes?.includes('invisible') === true || isSpeck
}

function isAtMostOnePixel(size: string | undefined): boolean {
  const value = toPixels(size?.trim())
  return value !== undefined && value <= 1
}

function isHiddenByStyle(style: Style): boolean {
  const opacity = /^([\d.]+)(%)?$/.exec(style.get('opacity') ?? '')
  const isClear = opacity !== null && Number(opacity[1]) / (opacity[2] === undefined ? 1 : 100) <= 0.05
  return (
    style.get('display') === 'none' ||
    style.get('content-visibility') === 'hidden' ||
    style.get('mso-hide') === 'all' ||
    isClear
  )
}

function isOffScreen(style: Style): boolean {
  const isPlaced = ['absolute', 'fixed', 'relative'].includes(style.get('position') ?? '')
  const places = isPlaced ? ['left', 'top', 'right', 'bottom'] : []
  const shifts = [...places, 'text-indent', 'margin-left', 'margin-top', 'margin']
  const isFar = shifts.some((each) => (toPixels(style.get(each)?.split(/\s+/, 1)[0]) ?? 0) <= farAway)
  const isClipped =
    /^rect\(\s*(?:[01](?:px)?[\s,]*){4}\)$/.test(style.get('clip') ?? '') ||
    /^(?:inset\((?:50|100)%|circle\(0|polygon\(0(?:px)? 0(?:px)?\))/.test(style.get('clip-path') ?? '')
  const isShrunk = /scale(?:3d|x|y)?\(0(?:\.0*)?[),]|translate[xy]?\(-\d{3,}/.test(style.get('transform') ?? '')
  return isFar || isClipped || isShrunk
}

/** A box without room hides its words only when what does not fit is cut off. */
function isEmptyClippedBox(style: Style): boolean {
  const overflows = [style.get('overflow'), style.get('overflow-x'), style.get('overflow-y')]
  if (!overflows.some((each) => each === 'hidden' || each === 'clip' || each?.startsWith('hidden '))) return false
  return ['width', 'height', 'max-width', 'max-height'].some((each) => isAtMostOnePixel(style.get(each)))
}

function isVisibleByStyle(inherited: boolean, value: string | undefined): boolean {
  if (value === undefined || value === 'inherit') return inherited
  return value !== 'hidden' && value !== 'collapse'
}

/** Relative sizes of something tiny stay tiny; wrappers of size 0 are common and their children say a real size. */
function isTinyFont(inherited: boolean, size: string | undefined): boolean {
  const value = toPixels(size)
  if (value === undefined) return inherited && (size === undefined || /^(?:inherit|smaller|larger|unset)$/.test(size))
  const isRelative = size?.endsWith('%') === true || /\dem$/.test(size ?? '')
  return (inherited && isRelative) || value <= 2
}

function readFontSize(font: string | undefined): string | undefined {
  return font
    ?.split(/\s+/)
    .map((word) => word.split('/', 1)[0])
    .find((word) => /^[\d.]+(?:px|pt|em|rem|%)?$/.test(word ?? '') && !/^\d00$/.test(word ?? ''))
}

function textColor(parent: Visibility, style: Style, attribute: string | undefined): Color | undefined {
  const fill = style.get('-webkit-text-fill-color')
  return parseColor(fill) ?? parseColor(style.get('color')) ?? parseColor(attribute) ?? parent.color
}

function backgroundColor(parent: Visibility, style: Style, attributes: Attributes): Color | undefined {
  const stated = style.get('background-color') ?? style.get('background') ?? attributes.get('bgcolor')
  const image = style.get('background-image') ?? attributes.get('background')
  if (image !== undefined && image !== 'none') return undefined
  if (stated === undefined || ['inherit', 'none', 'initial', 'unset', ''].includes(stated)) return parent.background
  const color =
    parseColor(stated) ?? parseColor(stated.split(/\s+(?![^(]*\))/).find((word) => parseColor(word) !== undefined))
  if (color === undefined || /url\(|gradient\(/.test(stated)) return undefined
  return color.alpha <= 0.06 ? parent.background : color
}

function keepsWhiteSpace(inherited: boolean, value: string | undefined): boolean {
  if (value === undefined || value === 'inherit') return inherited
  return value.startsWith('pre') || value === 'break-spaces'
}

// What the tags of HTML mean for text: which stand on lines of their own, which say nothing, which close which.

function toElementNameSet(list: string): ReadonlySet<string> {
  return new Set(list.split(/\s+/))
}

/** They never hold anything. */
export const voidTags = toElementNameSet('area base br col embed hr img input link meta param source track wbr')

/** Programs, styles, controls, other documents: the tokenizer reads to their end tag, and nothing in them is a message. */
export const rawTags = toElementNameSet('script style title textarea iframe noembed noframes xmp plaintext')

/** What they hold is no message either: choices, foreign languages, things that only a browser can show. */
const silentTags = toElementNameSet(
  `frame frameset noscript template object applet svg select datalist audio video canvas xml
   annotation annotation-xml mphantom`,
)

/** Formulas (MathML Core). */
export const mathTags = toElementNameSet(
  `math semantics mrow mi mn mo mtext ms mspace mfrac msqrt mroot msup msub msubsup munder mover munderover mtable mtr mtd
   mstyle mpadded merror`,
)

/** A blank line around them. */
export const spacedTags = toElementNameSet(
  'p h1 h2 h3 h4 h5 h6 ul ol menu dir dl blockquote pre listing table figure fieldset',
)

/** A line of their own. */
export const lineTags = toElementNameSet(
  `div section article header footer main nav aside address center details summary dialog form figcaption legend hgroup
   li dt dd tr caption body html optgroup option`,
)

const tableTags = toElementNameSet('table caption thead tbody tfoot tr td th')
const otherSpecialTags = toElementNameSet('button object template marquee applet td th thead tbody tfoot')

/** An ordinary end tag does not reach through these to an element around them. */
function isSpecialElement(name: string): boolean {
  return spacedTags.has(name) || lineTags.has(name) || otherSpecialTags.has(name)
}

/** Nothing inside of these ends, or is opened again, outside of them. */
export const scopeTags = toElementNameSet('table td th caption object template applet marquee html')

/** They end where they are told to, also through blocks, and go on in the next block when no end tag came. */
export const formattingTags = toElementNameSet('a b big code em font i nobr s small strike strong tt u')

/** Which open element ends when this one begins, and how far up to look for it. */
export type ImpliedEnd = { readonly closes: ReadonlySet<string>; readonly within: ReadonlySet<string> }

const paragraph: ImpliedEnd = {
  closes: toElementNameSet('p'),
  within: toElementNameSet('table td th caption object template button'),
}
const item: ImpliedEnd = { closes: toElementNameSet('li'), within: toElementNameSet('ul ol menu dir table td th') }
const term: ImpliedEnd = { closes: toElementNameSet('dt dd'), within: toElementNameSet('dl table td th') }
const cell: ImpliedEnd = { closes: toElementNameSet('td th caption'), within: toElementNameSet('tr table') }
const row: ImpliedEnd = { closes: toElementNameSet('tr caption'), within: toElementNameSet('table') }
const rows: ImpliedEnd = { closes: toElementNameSet('thead tbody tfoot caption'), within: toElementNameSet('table') }
const link: ImpliedEnd = { closes: toElementNameSet('a'), within: scopeTags }
const choice: ImpliedEnd = { closes: toElementNameSet('option'), within: toElementNameSet('select datalist') }

const special: Readonly<Record<string, readonly ImpliedEnd[]>> = {
  li: [paragraph, item],
  dt: [paragraph, term],
  dd: [paragraph, term],
  td: [cell],
  th: [cell],
  tr: [cell, row],
  tbody: [cell, row, rows],
  thead: [cell, row, rows],
  tfoot: [cell, row, rows],
  a: [link],
  option: [choice],
}
const plain: readonly ImpliedEnd[] = []
const blocks: readonly ImpliedEnd[] = [paragraph]

export function listImpliedEndTags(name: string): readonly ImpliedEnd[] {
  const own = special[name]
  if (own !== undefined) return own
  return spacedTags.has(name) || (lineTags.has(name) && name !== 'body' && name !== 'html') ? blocks : plain
}

/** The element at which the search for an end tag's beginning stops, in vain. */
export function stopsEndTagSearch(closing: string, name: string): boolean {
  if (tableTags.has(closing)) return name === 'template' || (closing !== 'table' && name === 'table')
  if (formattingTags.has(closing) || isSpecialElement(closing)) return scopeTags.has(name)
  return isSpecialElement(name)
}

// The declarations of a style attribute, read as a browser reads them: comments, escapes and `!important` hide nothing.

type Style = ReadonlyMap<string, string>

const none: Style = new Map()
const escaped = /\\(?:([0-9a-f]{1,6})\s?|([^\n]))/gi

/** Names and values in lower case; of two declarations of one property the one that counts. */
function parseInlineStyle(style: string | undefined): Style {
  if (style === undefined || style === '') return none
  const found = new Map<string, string>()
  const important = new Set<string>()
  for (const declaration of unescapeStyle(style).split(';')) {
    const colon = declaration.indexOf(':')
    if (colon === -1) continue
    const name = declaration.slice(0, colon).trim().toLowerCase()
    const words = declaration
      .slice(colon + 1)
      .trim()
      .toLowerCase()
    const isImportant = /!\s*important$/.test(words)
    if (important.has(name) && !isImportant) continue
    if (isImportant) important.add(name)
    found.set(name, isImportant ? words.slice(0, words.lastIndexOf('!')).trim() : words)
  }
  return found
}

/** A length in pixels, as near as that can be told without a page; undefined when it is none. */
function toPixels(value: string | undefined): number | undefined {
  const match = /^([+-]?(?:\d+\.?\d*|\.\d+))(px|pt|em|rem|ex|ch|vw|vh|in|cm|mm|%)?$/.exec(value ?? '')
  if (match === null) return undefined
  return Number(match[1]) * (unitPixels[match[2] ?? 'px'] ?? 1)
}

const unitPixels: Readonly<Record<string, number>> = {
  px: 1,
  pt: 4 / 3,
  em: 16,
  rem: 16,
  ex: 8,
  ch: 8,
  vw: 8,
  vh: 8,
  in: 96,
  cm: 38,
  mm: 3.8,
  // Of something unknown: a percentage only counts when it is nothing or far away.
  '%': 8,
}

function unescapeStyle(style: string): string {
  const bare = style.includes('/*') ? withoutComments(style) : style
  if (!bare.includes('\\')) return bare
  return bare.replace(escaped, (_, hex: string | undefined, plain: string | undefined) => {
    if (hex === undefined) return plain ?? ''
    const point = Number.parseInt(hex, 16)
    return point > 0 && point <= 0x10ffff ? String.fromCodePoint(point) : '\ufffd'
  })
}

function withoutComments(style: string): string {
  const kept: string[] = []
  for (let at = 0; at < style.length; ) {
    const open = style.indexOf('/*', at)
    kept.push(style.slice(at, open === -1 ? style.length : open))
    const close = open === -1 ? -1 : style.indexOf('*/', open + 2)
    at = close === -1 ? style.length : close + 2
  }
  return kept.join('')
}
