// The shapes in which servers write one value: alone, in a list, as an object with an id, as a text for each language.

export type Fields = Readonly<Record<string, unknown>>

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function listOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value
  return value === undefined || value === null ? [] : [value]
}

/** An address given as such, or by what it belongs to. */
export function iriOf(value: unknown): string | undefined {
  const iri = isFields(value) ? (value['id'] ?? value['@id']) : value
  return typeof iri === 'string' && iri !== '' ? iri : undefined
}

export function firstIri(value: unknown): string | undefined {
  return irisOf(value)[0]
}

/** Each once, in their order. */
export function irisOf(value: unknown): readonly string[] {
  const found = new Set<string>()
  for (const item of listOf(value)) {
    const iri = iriOf(item)
    if (iri !== undefined) found.add(iri)
  }
  return [...found]
}

/** `as:Note` and the whole address of the word mean the word. */
export function typeOf(value: unknown): string | undefined {
  const type = listOf(value).find((item) => typeof item === 'string' && item !== '')
  return (typeof type === 'string' && type.replace(/^.*[#:/]/, '')) || undefined
}

export function textOf(value: unknown): string {
  for (const item of listOf(value)) {
    const text = isFields(item) ? item['@value'] : item
    if (typeof text === 'string') return text
  }
  return ''
}

export type Worded = { readonly text: string; readonly language: string | undefined }

/** A text, or its languages where it has no form of its own. */
export function wordedOf(fields: Fields, name: string): Worded {
  const own = textOf(fields[name])
  const map = fields[`${name}Map`]
  const languages = isFields(map) ? Object.entries(map).filter((entry) => typeof entry[1] === 'string') : []
  const said = own === '' ? languages[0] : languages.find(([, text]) => text === own)
  const language = said?.[0] ?? languageIn(fields[name])
  return { text: own === '' ? textOf(said?.[1]) : own, language: language === 'und' ? undefined : language }
}

function languageIn(value: unknown): string | undefined {
  const [first] = listOf(value)
  const language = isFields(first) ? first['@language'] : undefined
  return typeof language === 'string' ? language : undefined
}

/** A time as it was written, if it is one. */
export function timeOf(value: unknown): string | undefined {
  return typeof value === 'string' && value.length <= 64 && Number.isFinite(Date.parse(value)) ? value : undefined
}

/** Where a link leads: plain, as a link object, or the first that fits among several. */
export function hrefOf(value: unknown, mediaType?: string): string | undefined {
  const links = listOf(value)
  const fitting = links.find((link) => isFields(link) && mediaTypeOf(link) === mediaType)
  for (const link of mediaType === undefined || fitting === undefined ? links : [fitting]) {
    const href = isFields(link) ? (link['href'] ?? link['url']) : link
    if (typeof href === 'string' && href !== '') return href
  }
  return undefined
}

export function mediaTypeOf(value: unknown): string | undefined {
  const type = isFields(value) ? value['mediaType'] : undefined
  return typeof type === 'string' && type !== '' ? type : undefined
}
