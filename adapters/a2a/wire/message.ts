// A message as its sender wrote it: checked field by field, and written down in the one spelling we keep.
import { type Json, maxInlineBytes, maxTextLength } from '../../../src/contract/index.ts'
import { hasMember, jsonOf, memberOf, readList, readStruct, readText, readTexts, type Scope, wrong } from './fields.ts'
import type { A2aMessage, A2aPart } from './objects.ts'

const maxParts = 64
const contents = ['text', 'raw', 'url', 'data'] as const
/** Either alphabet, padded or not: a reader of ProtoJSON takes them all. */
const base64 = /^[A-Za-z0-9+/_-]*={0,2}$/

export function readMessage(scope: Scope): A2aMessage | undefined {
  const messageId = readText(scope, 'messageId', { isRequired: true })
  const role = readText(scope, 'role', { isRequired: true })
  const isUser = role === 'ROLE_USER'
  if (role !== undefined && !isUser) wrong(scope, 'role', 'must be ROLE_USER: agents answer, they do not send')
  const parts = readList(scope, 'parts', readPart, { isRequired: true, max: maxParts })
  if (parts?.every(isBlank) === true && scope.problems.length === 0) wrong(scope, 'parts', 'must say something')
  const optional = defined({
    contextId: readText(scope, 'contextId'),
    taskId: readText(scope, 'taskId'),
    metadata: readStruct(scope, 'metadata'),
    extensions: readTexts(scope, 'extensions'),
    referenceTaskIds: readTexts(scope, 'referenceTaskIds'),
  })
  if (messageId === undefined || !isUser || parts === undefined) return undefined
  return { messageId, role, parts, ...optional }
}

function readPart(scope: Scope): A2aPart | undefined {
  const given = contents.filter((name) => hasMember(scope.of, name))
  // `data` may be null, which is a value; of the others null means that there is none.
  const present = given.filter((name) => name === 'data' || memberOf(scope.of, name) !== null)
  const [kind, another] = present
  if (kind === undefined || another !== undefined)
    return wrong(scope, '', 'must have exactly one of text, raw, url and data')
  const content = readContent(scope, kind)
  const about = defined({
    metadata: readStruct(scope, 'metadata'),
    filename: readText(scope, 'filename'),
    mediaType: readText(scope, 'mediaType'),
  })
  return content === undefined ? undefined : { ...content, ...about }
}

function readContent(scope: Scope, kind: (typeof contents)[number]): A2aPart | undefined {
  const value = memberOf(scope.of, kind)
  if (kind === 'data') {
    const isLarge = new TextEncoder().encode(JSON.stringify(value)).length > maxInlineBytes
    return isLarge ? wrong(scope, kind, `must have at most ${maxInlineBytes} bytes as JSON`) : { data: jsonOf(value) }
  }
  if (typeof value !== 'string') return wrong(scope, kind, 'must be a string')
  switch (kind) {
    case 'text':
      return value.length > maxTextLength
        ? wrong(scope, kind, `must have at most ${maxTextLength} characters`)
        : { text: value }
    case 'raw':
      return readBytes(scope, value)
    case 'url':
      return URL.canParse(value) && /^[a-z][a-z0-9+.-]*:/i.test(value) && !/[\s\u0000-\u001f]/.test(value)
        ? { url: value }
        : wrong(scope, kind, 'must be an absolute URL')
  }
}

function readBytes(scope: Scope, value: string): A2aPart | undefined {
  const digits = value.replace(/=+$/, '')
  if (!base64.test(value) || digits.length % 4 === 1) return wrong(scope, 'raw', 'must be base64')
  if (digits.length * 3 > maxInlineBytes * 4)
    return wrong(scope, 'raw', `must have at most ${maxInlineBytes} bytes; send a url to a larger file`)
  const standard = digits.replaceAll('-', '+').replaceAll('_', '/')
  return { raw: standard.padEnd(Math.ceil(standard.length / 4) * 4, '=') }
}

function isBlank({ text }: A2aPart): boolean {
  return text !== undefined && text.trim() === ''
}

type Defined<T> = { readonly [Key in keyof T]?: Exclude<T[Key], undefined> }

/** Without what is undefined: it would be a member in some readers' eyes. */
export function defined<T extends Readonly<Record<string, Json | readonly Json[] | undefined>>>(fields: T): Defined<T> {
  // Only what is there is left; the type says so.
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<T>
}
