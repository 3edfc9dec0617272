// A message as its sender wrote it: checked field by field, and written down in the one spelling we keep.
import { type Json, maxInlineBytes, maxTextLength } from '../../../src/contract/index.ts'
import {
  asParsedJson,
  type FieldScope,
  getMember,
  hasMember,
  readListField,
  readStructField,
  readTextField,
  readTextsField,
  reportViolation,
} from './fields.ts'
import type { A2aMessage, A2aPart } from './objects.ts'

const maxParts = 64
const contents = ['text', 'raw', 'url', 'data'] as const
/** Either alphabet, padded or not: a reader of ProtoJSON takes them all. */
const base64 = /^[A-Za-z0-9+/_-]*={0,2}$/

export function readA2aMessage(scope: FieldScope): A2aMessage | undefined {
  const messageId = readTextField(scope, 'messageId', { isRequired: true })
  const role = readTextField(scope, 'role', { isRequired: true })
  const isUser = role === 'ROLE_USER'
  if (role !== undefined && !isUser)
    reportViolation(scope, 'role', 'must be ROLE_USER: agents answer, they do not send')
  const parts = readListField(scope, 'parts', readA2aPart, { isRequired: true, max: maxParts })
  if (parts?.every(isBlankPart) === true && scope.problems.length === 0)
    reportViolation(scope, 'parts', 'must say something')
  const optional = dropUndefined({
    contextId: readTextField(scope, 'contextId'),
    taskId: readTextField(scope, 'taskId'),
    metadata: readStructField(scope, 'metadata'),
    extensions: readTextsField(scope, 'extensions'),
    referenceTaskIds: readTextsField(scope, 'referenceTaskIds'),
  })
  if (messageId === undefined || !isUser || parts === undefined) return undefined
  return { messageId, role, parts, ...optional }
}

function readA2aPart(scope: FieldScope): A2aPart | undefined {
  const given = contents.filter((name) => hasMember(scope.of, name))
  // `data` may be null, which is a value; of the others null means that there is none.
  const present = given.filter((name) => name === 'data' || getMember(scope.of, name) !== null)
  const [kind, another] = present
  if (kind === undefined || another !== undefined)
    return reportViolation(scope, '', 'must have exactly one of text, raw, url and data')
  const content = readContent(scope, kind)
  const about = dropUndefined({
    metadata: readStructField(scope, 'metadata'),
    filename: readTextField(scope, 'filename'),
    mediaType: readTextField(scope, 'mediaType'),
  })
  return content === undefined ? undefined : { ...content, ...about }
}

function readContent(scope: FieldScope, kind: (typeof contents)[number]): A2aPart | undefined {
  const value = getMember(scope.of, kind)
  if (kind === 'data') {
    const isLarge = new TextEncoder().encode(JSON.stringify(value)).length > maxInlineBytes
    return isLarge
      ? reportViolation(scope, kind, `must have at most ${maxInlineBytes} bytes as JSON`)
      : { data: asParsedJson(value) }
  }
  if (typeof value !== 'string') return reportViolation(scope, kind, 'must be a string')
  switch (kind) {
    case 'text':
      return value.length > maxTextLength
        ? reportViolation(scope, kind, `must have at most ${maxTextLength} characters`)
        : { text: value }
    case 'raw':
      return readRawPart(scope, value)
    case 'url':
      return URL.canParse(value) && /^[a-z][a-z0-9+.-]*:/i.test(value) && !/[\s\u0000-\u001f]/.test(value)
        ? { url: value }
        : reportViolation(scope, kind, 'must be an absolute URL')
  }
}

function readRawPart(scope: FieldScope, value: string): A2aPart | undefined {
  const digits = value.replace(/=+$/, '')
  if (!base64.test(value) || digits.length % 4 === 1) return reportViolation(scope, 'raw', 'must be base64')
  if (digits.length * 3 > maxInlineBytes * 4)
    return reportViolation(scope, 'raw', `must have at most ${maxInlineBytes} bytes; send a url to a larger file`)
  const standard = digits.replaceAll('-', '+').replaceAll('_', '/')
  return { raw: standard.padEnd(Math.ceil(standard.length / 4) * 4, '=') }
}

function isBlankPart({ text }: A2aPart): boolean {
  return text !== undefined && text.trim() === ''
}

type Defined<T> = { readonly [Key in keyof T]?: Exclude<T[Key], undefined> }

/** Without what is undefined: it would be a member in some readers' eyes. */
export function dropUndefined<T extends Readonly<Record<string, Json | readonly Json[] | undefined>>>(
  fields: T,
): Defined<T> {
  // Only what is there is left; the type says so.
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<T>
}
