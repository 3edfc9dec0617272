// Validation of NormalizedMessage with a code for each problem: rejects, repairs with a warning, or passes.
import type * as z from 'zod'
import { cleanName, cleanText } from '../lib/clean-text.ts'
import { isPlainObject } from '../lib/json.ts'
import { isCanonicalAddress, isHostedAddress } from './address.ts'
import { type NormalizedMessage, normalizedMessageSchema } from './message.ts'
import { maxParts, maxTextLength, partParserFor } from './parts.ts'

export type MessageCode =
  | 'NM_ID_MISSING'
  | 'NM_THREAD_MISSING'
  | 'NM_RECIPIENT_INVALID'
  | 'NM_SENDER_ADDRESS_INVALID'
  | 'NM_PARTS_EMPTY'
  | 'NM_PART_INVALID'
  | 'NM_TEXT_MIME'
  | 'NM_BYTESREF_INVALID'
  | 'NM_CAPABILITIES_MISSING'
  | 'NM_RELAY_INVALID'
  | 'NM_VIA_UNKNOWN'
  | 'NM_TIME_INVALID'
  | 'NM_AUTH_INCONSISTENT'
  | 'NM_CHAIN_INVALID'
  | 'NM_MALFORMED'
  | RepairCode

/** Where the message comes from decides how strict we are: adapters must be right, storage may be from the future. */
export type ValidationScope =
  | {
      readonly from: 'adapter'
      readonly receivedVia: ReadonlySet<string>
      readonly authMethods: ReadonlySet<string>
      readonly resolutionVerified?: boolean
    }
  | { readonly from: 'storage' }

export type MessageValidation =
  | { readonly ok: true; readonly message: NormalizedMessage; readonly warnings: readonly MessageCode[] }
  | { readonly ok: false; readonly code: MessageCode; readonly path: string }

export function validateMessage(input: unknown, scope: ValidationScope): MessageValidation {
  if (isPlainMessage(input)) return semanticFault(input, scope) ?? { ok: true, message: input, warnings: [] }
  const warnings: RepairCode[] = []
  const isResolutionTrusted = scope.from === 'storage' || scope.resolutionVerified === true
  const repaired = repairMessage(input, isResolutionTrusted, warnings)
  const parsed = normalizedMessageSchema.safeParse(repaired)
  if (!parsed.success) return toRejection(parsed.error, repaired)
  const fault = semanticFault(parsed.data, scope)
  if (fault !== undefined) return fault
  return { ok: true, message: parsed.data, warnings }
}

function semanticFault(message: NormalizedMessage, scope: ValidationScope): MessageValidation | undefined {
  const invalidMessage = (code: MessageCode, path: string): MessageValidation => ({ ok: false, code, path })
  if (!isHostedAddress(message.recipient)) return invalidMessage('NM_RECIPIENT_INVALID', 'recipient')
  if (!isCanonicalAddress(message.sender.address)) return invalidMessage('NM_SENDER_ADDRESS_INVALID', 'sender.address')
  const { auth_method, verified, identities = [] } = message.sender
  if (auth_method === 'none' && (verified || identities.length > 0))
    return invalidMessage('NM_AUTH_INCONSISTENT', 'sender')
  if (verified && identities.length === 0) return invalidMessage('NM_AUTH_INCONSISTENT', 'sender.identities')
  if (scope.from === 'storage') return undefined
  if (!scope.receivedVia.has(message.received_via)) return invalidMessage('NM_VIA_UNKNOWN', 'received_via')
  if (auth_method !== 'none' && !scope.authMethods.has(auth_method))
    return invalidMessage('NM_AUTH_INCONSISTENT', 'sender.auth_method')
  return undefined
}

function toRejection(error: z.ZodError, input: unknown): MessageValidation {
  const issue = error.issues[0]
  const path = issue?.path ?? []
  return { ok: false, code: messageCodeForPath(path.map(String), input), path: path.join('.') }
}

function messageCodeForPath(path: readonly string[], input: unknown): MessageCode {
  switch (path[0]) {
    case 'id':
      return 'NM_ID_MISSING'
    case 'thread_id':
      return 'NM_THREAD_MISSING'
    case 'recipient':
      return 'NM_RECIPIENT_INVALID'
    case 'received_via':
      return 'NM_VIA_UNKNOWN'
    case 'received_at':
      return 'NM_TIME_INVALID'
    case 'sender':
      return senderCode(path[1])
    case 'recipient_capabilities':
      return capabilitiesCode(path, input)
    case 'parts':
      return partCode(path, input)
    default:
      return 'NM_MALFORMED'
  }
}

function senderCode(field: string | undefined): MessageCode {
  if (field === undefined || field === 'address') return 'NM_SENDER_ADDRESS_INVALID'
  return ['auth_method', 'verified', 'identities'].includes(field) ? 'NM_AUTH_INCONSISTENT' : 'NM_MALFORMED'
}

function capabilitiesCode(path: readonly string[], input: unknown): MessageCode {
  if (path[1] === 'agent_chain') return 'NM_CHAIN_INVALID'
  if (path[1] === 'rendering') return 'NM_MALFORMED'
  const relay = property(property(input, 'recipient_capabilities'), 'mention_relay')
  return relay === undefined || relay === null ? 'NM_CAPABILITIES_MISSING' : 'NM_RELAY_INVALID'
}

function partCode(path: readonly string[], input: unknown): MessageCode {
  const parts = property(input, 'parts')
  if (Array.isArray(parts) && parts.length === 0) return 'NM_PARTS_EMPTY'
  const part = Array.isArray(parts) ? parts[Number(path[1])] : undefined
  const issue = partParserFor(property(part, 'kind')).safeParse(part).error?.issues[0]
  const field = issue?.path[0]
  if (field === 'mime' && property(part, 'kind') === 'text') return 'NM_TEXT_MIME'
  return field === 'bytes_ref' ? 'NM_BYTESREF_INVALID' : 'NM_PART_INVALID'
}

function property(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[key] : undefined
}

// The usual message is recognized without the schema: one look at each field instead of a copy of all of them. It only ever says
// that the schema would take a message as it stands; whatever else there is goes to the schema.

type Rule = (value: unknown) => boolean

/** Every field known and as it should be, none missing that must be there; an unknown field would be left out. */
function shape(required: Readonly<Record<string, Rule>>, optional: Readonly<Record<string, Rule>> = {}): Rule {
  const rules = new Map(Object.entries({ ...required, ...optional }))
  const names = Object.keys(required)
  return (value) => {
    if (!isPlainObject(value)) return false
    for (const name in value) if (rules.get(name)?.(value[name]) !== true) return false
    for (const name of names) if (value[name] === undefined) return false
    return true
  }
}

function isListOf(rule: Rule, max: number, min = 0): Rule {
  return (value) => {
    if (!Array.isArray(value) || value.length < min || value.length > max) return false
    // Place by place: a list with a hole in it is no list of anything.
    for (let index = 0; index < value.length; index += 1) if (!rule(value[index])) return false
    return true
  }
}

const isString: Rule = (value) => typeof value === 'string'
const isBoolean: Rule = (value) => typeof value === 'boolean'
const isAnything: Rule = () => true
const isOneOf = (...words: readonly unknown[]): Rule => {
  const known = new Set(words)
  return (value) => known.has(value)
}
const isMatch = (pattern: RegExp): Rule => {
  return (value) => typeof value === 'string' && pattern.test(value)
}
/** Without white space around it, so that nothing would be cut off. */
const isWord = (max: number): Rule => {
  return (value) => typeof value === 'string' && value !== '' && value.length <= max && value.trim() === value
}
/** Printable ASCII: the schema lets more through, and looks closer. */
const isId = (max: number): Rule => {
  const plain = new RegExp(`^[\\x20-\\x7e]{1,${max}}$`)
  return isMatch(plain)
}
const isCleanText: Rule = (value) =>
  typeof value === 'string' && value.length <= maxTextLength && cleanText(value) === value
const isCleanName: Rule = (value) => typeof value === 'string' && cleanName(value) === value
const isRecord: Rule = (value) => {
  if (!isPlainObject(value)) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return (prototype === Object.prototype || prototype === null) && !Object.hasOwn(value, '__proto__')
}

// As a clock writes it. The 29th of February is looked up in the schema.
const monthDay =
  '(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|02-(?:0[1-9]|1\\d|2[0-8]))'
const isInstant = isMatch(new RegExp(`^\\d{4}-${monthDay}T(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d\\.\\d{3}Z$`))

const isTransport = shape({ type: isOneOf('transport'), verified_by: isWord(512) }, { key_id: isString })
const isBearer = shape({ type: isOneOf('bearer-token'), verified_by: isWord(512) }, { token_id: isString })
const isIdentity = shape(
  {
    subject: isWord(512),
    issuer: isWord(512),
    method: isWord(256),
    assurance: isWord(256),
    audience: isString,
    issued_at: isInstant,
    proof: (value) => isTransport(value) || isBearer(value),
  },
  { claims: isRecord },
)

const isProfile = shape(
  {},
  {
    display_name: isCleanName,
    username: isCleanName,
    url: isString,
    locale: isString,
    timezone: isString,
    provider: isString,
    provider_subject: isString,
    fetched_at: isString,
    extensions: isRecord,
  },
)
const isSender = shape(
  {
    address: isString,
    auth_method: (value) => typeof value === 'string' && value !== '',
    verified: isOneOf(true),
    identities: isListOf(isIdentity, 16, 1),
  },
  { display_name: isCleanName, profile: isProfile, key_id: isString },
)

const isBareRelay = shape({ kind: isOneOf('inline', 'none') })
const isFieldRelay = shape({
  kind: isOneOf('recipient-field'),
  fields: isListOf(isOneOf('to', 'cc'), Number.POSITIVE_INFINITY, 1),
})
const isAddressingRelay = shape({
  kind: isOneOf('addressing'),
  envelope_fields: isListOf(isOneOf('to', 'cc'), Number.POSITIVE_INFINITY, 1),
  also_inline: isOneOf(true),
})
const isCapabilities = shape(
  { mention_relay: (value) => isBareRelay(value) || isFieldRelay(value) || isAddressingRelay(value) },
  {
    rendering: shape(
      {},
      {
        max_text_chars: (value) => Number.isSafeInteger(value) && Number(value) > 0,
        markdown: isString,
        streaming: isOneOf('native', 'edit', 'none'),
        files: isBoolean,
        buttons: isBoolean,
      },
    ),
  },
)

const isSlug = isMatch(/^[a-z0-9][a-z0-9-]*$/)
const isIdOrNull: Rule = (value) =>
  value === null || (typeof value === 'string' && value !== '' && value.trim() === value)
const isChannel = shape(
  {
    connector_id: isSlug,
    external_provider: isSlug,
    external_conversation_id: isIdOrNull,
    external_message_id: isIdOrNull,
    sender_id: isIdOrNull,
    room_kind: isOneOf('dm', 'group', 'channel', null),
    from_self: isBoolean,
    addressed: isOneOf('mention', 'reply', 'dm', 'thread', 'command', 'none'),
    visibility: isOneOf('public', 'unlisted', 'followers', 'direct', 'private'),
    mentions: isListOf(shape({ text: isString }, { subject: isString }), Number.POSITIVE_INFINITY),
    event: isOneOf('new', 'edit', 'delete'),
  },
  {
    target_id: isString,
    run_id: isString,
    sender_kind: isOneOf('person', 'machine'),
    main_line: (value) => typeof value === 'string' && value !== '' && value.length <= 512,
    command: shape({ name: (value) => typeof value === 'string' && value !== '', args: isString }),
  },
)

const isTextPart = shape({
  kind: isOneOf('text'),
  mime: isOneOf('text/plain', 'text/markdown', 'text/html'),
  content: isCleanText,
})

const isMessage = shape(
  {
    id: isId(512),
    thread_id: isId(1024),
    sender: isSender,
    recipient: isString,
    parts: isListOf(isTextPart, maxParts, 1),
    recipient_capabilities: isCapabilities,
    received_via: (value) => typeof value === 'string' && value !== '',
    received_at: isInstant,
    raw: isAnything,
  },
  { in_reply_to: isCleanText, channel: isChannel },
)

/** True: repairing would leave it as it is, and the schema would take it and change nothing. */
export function isPlainMessage(input: unknown): input is NormalizedMessage {
  return isMessage(input)
}

// The repairs of message validation: what is put right before a message is judged, with a warning where it matters.

type Loose = Record<string, unknown>
/** The codes that a repair may leave behind as a warning. */
export type RepairCode = 'NM_HISTORY_ORDER' | 'NM_HISTORY_ROLE' | 'NM_RESOLUTION_UNTRUSTED'

/** Answers a changed copy; the input stays as it came. Text and names are cleaned, history is put in order. */
export function repairMessage(input: unknown, isResolutionTrusted: boolean, warnings: RepairCode[]): unknown {
  if (!isLoose(input)) return input
  const message: Loose = { ...input }
  if ('policy_resolution' in message && !isResolutionTrusted) {
    delete message['policy_resolution']
    warnings.push('NM_RESOLUTION_UNTRUSTED')
  }
  replace(message, 'in_reply_to', cleanIfText)
  replace(message, 'sender', repairSender)
  replace(message, 'parts', repairParts)
  replace(message, 'history', (history) => (Array.isArray(history) ? repairHistory(history, warnings) : history))
  return message
}

function repairHistory(history: readonly unknown[], warnings: RepairCode[]): readonly unknown[] {
  const known = history.filter((turn) => isLoose(turn) && (turn['role'] === 'user' || turn['role'] === 'assistant'))
  if (known.length < history.length) warnings.push('NM_HISTORY_ROLE')
  const times = turnTimes(known)
  const order = known.map((_, index) => index).toSorted((a, b) => (times[a] ?? 0) - (times[b] ?? 0))
  if (order.some((from, to) => from !== to)) warnings.push('NM_HISTORY_ORDER')
  return order.map((index) => repairHistoryTurn(known[index]))
}

/** A turn without a readable time keeps its place behind the turn before it. */
function turnTimes(turns: readonly unknown[]): readonly number[] {
  let last = Number.NEGATIVE_INFINITY
  return turns.map((turn) => {
    const time = isLoose(turn) ? Date.parse(String(turn['timestamp'])) : Number.NaN
    if (!Number.isNaN(time)) last = time
    // Two turns before all times must compare as equal, which minus infinity does not.
    return Math.max(last, Number.MIN_SAFE_INTEGER)
  })
}

function repairHistoryTurn(turn: unknown): unknown {
  if (!isLoose(turn)) return turn
  const copy: Loose = { ...turn }
  replace(copy, 'sender', repairSender)
  replace(copy, 'parts', repairParts)
  return copy
}

function repairSender(sender: unknown): unknown {
  if (!isLoose(sender)) return sender
  const copy: Loose = { ...sender }
  replace(copy, 'display_name', cleanIfName)
  replace(copy, 'profile', (profile) => {
    if (!isLoose(profile)) return profile
    const shown: Loose = { ...profile }
    replace(shown, 'display_name', cleanIfName)
    replace(shown, 'username', cleanIfName)
    return shown
  })
  return copy
}

function repairParts(parts: unknown): unknown {
  if (!Array.isArray(parts)) return parts
  return parts.map((part: unknown) => {
    if (!isLoose(part) || part['kind'] !== 'text') return part
    const copy: Loose = { ...part }
    replace(copy, 'content', cleanIfText)
    return copy
  })
}

function replace(target: Loose, key: string, change: (value: unknown) => unknown): void {
  if (target[key] !== undefined) target[key] = change(target[key])
}

function cleanIfText(value: unknown): unknown {
  return typeof value === 'string' ? cleanText(value) : value
}

function cleanIfName(value: unknown): unknown {
  return typeof value === 'string' ? cleanName(value) : value
}

function isLoose(value: unknown): value is Loose {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
