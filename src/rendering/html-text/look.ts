// Whether a reader sees the words of an element. Text that only a machine would find is how instructions are smuggled in.
// Limits: style attributes and attributes only. Style sheets, pictures behind text and scripts are not looked at.

import { type Color, isUnreadable, parseColor, white } from './css-color.ts'
import { silentTags } from './elements.ts'
import { parseInlineStyle, pixels, type Style } from './inline-style.ts'

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
    !(look.color !== undefined && isUnreadable(look.color, look.background))
  )
}

const farAway = -200
const styling = ['style', 'hidden', 'class', 'color', 'bgcolor', 'background', 'width', 'height'] as const
const keepingTags = new Set(['pre', 'listing'])

export function computeVisibility(parent: Visibility, name: string, attributes: Attributes): Visibility {
  const look = ofTag(parent, name, attributes)
  if (attributes.size === 0 || !styling.some((each) => attributes.has(each))) return look
  const style = parseInlineStyle(attributes.get('style'))
  return {
    isGone:
      look.isGone ||
      isHiddenByAttribute(name, attributes) ||
      isRemoved(style) ||
      isOffScreen(style) ||
      isBoxOfNothing(style),
    isVisible: visibility(look.isVisible, style.get('visibility')),
    isTiny: tininess(look.isTiny, style.get('font-size') ?? sizeInFont(style.get('font'))),
    color: textColor(look, style, attributes.get('color')),
    background: backgroundColor(look, style, attributes),
    keepsSpace: keepsSpace(look.keepsSpace, style.get('white-space')),
  }
}

/** Some tags say nothing; a link has its own colour unless a style sets another. */
function ofTag(parent: Visibility, name: string, attributes: Attributes): Visibility {
  const isShut = name === 'dialog' && !attributes.has('open')
  if (isShut || silentTags.has(name)) return { ...parent, isGone: true }
  if (name === 'a' && parent.color !== undefined) return { ...parent, color: undefined }
  return keepingTags.has(name) ? { ...parent, keepsSpace: true } : parent
}

/** `invisible` is how fediverse posts hide the dull parts of an address; the address itself is in the link. */
function isHiddenByAttribute(name: string, attributes: Attributes): boolean {
  const isSpeck = name === 'img' && [attributes.get('width'), attributes.get('height')].some(isSpeckSize)
  const classes = attributes.get('class')?.split(/\s+/)
  return attributes.has('hidden') || classes?.includes('invisible') === true || isSpeck
}

function isSpeckSize(size: string | undefined): boolean {
  const value = pixels(size?.trim())
  return value !== undefined && value <= 1
}

function isRemoved(style: Style): boolean {
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
  const isFar = shifts.some((each) => (pixels(style.get(each)?.split(/\s+/, 1)[0]) ?? 0) <= farAway)
  const isClipped =
    /^rect\(\s*(?:[01](?:px)?[\s,]*){4}\)$/.test(style.get('clip') ?? '') ||
    /^(?:inset\((?:50|100)%|circle\(0|polygon\(0(?:px)? 0(?:px)?\))/.test(style.get('clip-path') ?? '')
  const isShrunk = /scale(?:3d|x|y)?\(0(?:\.0*)?[),]|translate[xy]?\(-\d{3,}/.test(style.get('transform') ?? '')
  return isFar || isClipped || isShrunk
}

/** A box without room hides its words only when what does not fit is cut off. */
function isBoxOfNothing(style: Style): boolean {
  const overflows = [style.get('overflow'), style.get('overflow-x'), style.get('overflow-y')]
  if (!overflows.some((each) => each === 'hidden' || each === 'clip' || each?.startsWith('hidden '))) return false
  return ['width', 'height', 'max-width', 'max-height'].some((each) => isSpeckSize(style.get(each)))
}

function visibility(inherited: boolean, value: string | undefined): boolean {
  if (value === undefined || value === 'inherit') return inherited
  return value !== 'hidden' && value !== 'collapse'
}

/** Relative sizes of something tiny stay tiny; wrappers of size 0 are common and their children say a real size. */
function tininess(inherited: boolean, size: string | undefined): boolean {
  const value = pixels(size)
  if (value === undefined) return inherited && (size === undefined || /^(?:inherit|smaller|larger|unset)$/.test(size))
  const isRelative = size?.endsWith('%') === true || /\dem$/.test(size ?? '')
  return (inherited && isRelative) || value <= 2
}

function sizeInFont(font: string | undefined): string | undefined {
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

function keepsSpace(inherited: boolean, value: string | undefined): boolean {
  if (value === undefined || value === 'inherit') return inherited
  return value.startsWith('pre') || value === 'break-spaces'
}
