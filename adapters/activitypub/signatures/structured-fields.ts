// Dictionaries of structured fields (RFC 8941), as far as signatures and digests need them. Stricter where a reader and a signer
// could differ: a name may stand once, and there are no decimals.
import { decodeStrictBase64 } from './key-material.ts'

export type BareItem =
  | { readonly type: 'string'; readonly value: string }
  | { readonly type: 'token'; readonly value: string }
  | { readonly type: 'integer'; readonly value: number }
  | { readonly type: 'boolean'; readonly value: boolean }
  | { readonly type: 'bytes'; readonly value: Uint8Array<ArrayBuffer>; readonly base64: string }

export type Params = ReadonlyMap<string, BareItem>
export type Item = { readonly bare: BareItem; readonly params: Params }
export type Member =
  | ({ readonly kind: 'item' } & Item)
  | { readonly kind: 'list'; readonly items: readonly Item[]; readonly params: Params }
export type Dictionary = ReadonlyMap<string, Member>

const maxLength = 16_384
const maxEntries = 64

/** Thrown inside this file only: callers get the dictionary or undefined. */
class Malformed extends Error {}

type Cursor = { readonly text: string; at: number }

export function parseDictionary(text: string): Dictionary | undefined {
  if (text.length > maxLength) return undefined
  try {
    return parseMembers({ text: text.trim(), at: 0 })
  } catch (error) {
    if (error instanceof Malformed) return undefined
    throw error
  }
}

/** The text of an inner list as a signer has to write it (RFC 8941 section 4.1). */
export function serializeInnerList(items: readonly Item[], params: Params): string {
  return `(${items.map(({ bare, params: own }) => serializeBareItem(bare) + serializeParams(own)).join(' ')})${serializeParams(params)}`
}

function serializeParams(params: Params): string {
  let text = ''
  for (const [name, bare] of params) {
    text += bare.type === 'boolean' && bare.value ? `;${name}` : `;${name}=${serializeBareItem(bare)}`
  }
  return text
}

function serializeBareItem(bare: BareItem): string {
  switch (bare.type) {
    case 'string':
      return `"${bare.value.replace(/["\\]/g, '\\$&')}"`
    case 'bytes':
      return `:${bare.base64}:`
    case 'boolean':
      return bare.value ? '?1' : '?0'
    case 'integer':
    case 'token':
      return String(bare.value)
  }
}

function parseMembers(cursor: Cursor): Dictionary {
  const members = new Map<string, Member>()
  while (cursor.at < cursor.text.length) {
    const name = takeToken(cursor, /[a-z*][a-z0-9_.*-]*/y)
    if (members.has(name) || members.size >= maxEntries) throw new Malformed()
    members.set(
      name,
      takeToken(cursor, /=?/y) === '=' ? parseMember(cursor) : { kind: 'item', ...parseFlagItem(cursor) },
    )
    takeToken(cursor, /[ \t]*/y)
    if (cursor.at === cursor.text.length) return members
    takeToken(cursor, /,[ \t]*/y)
    // A comma must be followed by something.
    if (cursor.at === cursor.text.length) throw new Malformed()
  }
  return members
}

function parseMember(cursor: Cursor): Member {
  if (cursor.text[cursor.at] !== '(') return { kind: 'item', ...parseItem(cursor) }
  cursor.at += 1
  const items: Item[] = []
  for (;;) {
    const gap = takeToken(cursor, / */y)
    if (cursor.text[cursor.at] === ')') break
    if ((gap === '' && items.length > 0) || items.length >= maxEntries) throw new Malformed()
    items.push(parseItem(cursor))
  }
  cursor.at += 1
  return { kind: 'list', items, params: parseParams(cursor) }
}

function parseFlagItem(cursor: Cursor): Item {
  return { bare: { type: 'boolean', value: true }, params: parseParams(cursor) }
}

function parseItem(cursor: Cursor): Item {
  return { bare: parseBareItem(cursor), params: parseParams(cursor) }
}

function parseParams(cursor: Cursor): Params {
  const found = new Map<string, BareItem>()
  while (cursor.text[cursor.at] === ';') {
    takeToken(cursor, /; */y)
    const name = takeToken(cursor, /[a-z*][a-z0-9_.*-]*/y)
    if (found.has(name) || found.size >= maxEntries) throw new Malformed()
    found.set(name, takeToken(cursor, /=?/y) === '=' ? parseBareItem(cursor) : { type: 'boolean', value: true })
  }
  return found
}

function parseBareItem(cursor: Cursor): BareItem {
  const first = cursor.text[cursor.at] ?? ''
  if (first === '"') {
    const quoted = takeToken(cursor, /"(?:[ !#-[\]-~]|\\["\\])*"/y)
    return { type: 'string', value: quoted.slice(1, -1).replace(/\\(.)/g, '$1') }
  }
  if (first === ':') {
    const base64 = takeToken(cursor, /:[A-Za-z0-9+/]*={0,2}:/y).slice(1, -1)
    const value = decodeStrictBase64(base64)
    if (value === undefined) throw new Malformed()
    return { type: 'bytes', value, base64 }
  }
  if (first === '?') return { type: 'boolean', value: takeToken(cursor, /\?[01]/y) === '?1' }
  if (/[-0-9]/.test(first)) return { type: 'integer', value: Number(takeToken(cursor, /-?[0-9]{1,15}(?![0-9.])/y)) }
  return { type: 'token', value: takeToken(cursor, /[A-Za-z*][A-Za-z0-9!#$%&'*+.^_`|~:/-]*/y) }
}

function takeToken(cursor: Cursor, pattern: RegExp): string {
  pattern.lastIndex = cursor.at
  const found = pattern.exec(cursor.text)
  if (found === null) throw new Malformed()
  cursor.at = pattern.lastIndex
  return found[0]
}
