// The shapes in which servers write one value: alone, in a list, as an object with an id, as a text for each language.

export type Fields = Readonly<Record<string, unknown>>

export function isPlainObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function toList(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value
  return value === undefined || value === null ? [] : [value]
}

/** An address given as such, or by what it belongs to. */
export function readIri(value: unknown): string | undefined {
  const iri = isPlainObject(value) ? (value['id'] ?? value['@id']) : value
  return typeof iri === 'string' && iri !== '' ? iri : undefined
}

export function firstIri(value: unknown): string | undefined {
  return readIris(value)[0]
}

/** Each once, in their order. */
export function readIris(value: unknown): readonly string[] {
  const found = new Set<string>()
  for (const item of toList(value)) {
    const iri = readIri(item)
    if (iri !== undefined) found.add(iri)
  }
  return [...found]
}

/** `as:Note` and the whole address of the word mean the word. */
export function readType(value: unknown): string | undefined {
  const type = toList(value).find((item) => typeof item === 'string' && item !== '')
  return (typeof type === 'string' && type.replace(/^.*[#:/]/, '')) || undefined
}

export function readFirstText(value: unknown): string {
  for (const item of toList(value)) {
    const text = isPlainObject(item) ? item['@value'] : item
    if (typeof text === 'string') return text
  }
  return ''
}

export type LanguageText = { readonly text: string; readonly language: string | undefined }

/** A text, or its languages where it has no form of its own. */
export function readLanguageText(fields: Fields, name: string): LanguageText {
  const own = readFirstText(fields[name])
  const map = fields[`${name}Map`]
  const languages = isPlainObject(map) ? Object.entries(map).filter((entry) => typeof entry[1] === 'string') : []
  const said = own === '' ? languages[0] : languages.find(([, text]) => text === own)
  const language = said?.[0] ?? mapLanguage(fields[name])
  return { text: own === '' ? readFirstText(said?.[1]) : own, language: language === 'und' ? undefined : language }
}

function mapLanguage(value: unknown): string | undefined {
  const [first] = toList(value)
  const language = isPlainObject(first) ? first['@language'] : undefined
  return typeof language === 'string' ? language : undefined
}

/** A time as it was written, if it is one. */
export function readTimestamp(value: unknown): string | undefined {
  return typeof value === 'string' && value.length <= 64 && Number.isFinite(Date.parse(value)) ? value : undefined
}

/** Where a link leads: plain, as a link object, or the first that fits among several. */
export function readHref(value: unknown, mediaType?: string): string | undefined {
  const links = toList(value)
  const fitting = links.find((link) => isPlainObject(link) && readMediaType(link) === mediaType)
  for (const link of mediaType === undefined || fitting === undefined ? links : [fitting]) {
    const href = isPlainObject(link) ? (link['href'] ?? link['url']) : link
    if (typeof href === 'string' && href !== '') return href
  }
  return undefined
}

export function readMediaType(value: unknown): string | undefined {
  const type = isPlainObject(value) ? value['mediaType'] : undefined
  return typeof type === 'string' && type !== '' ? type : undefined
}
