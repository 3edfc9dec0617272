// Validation of NormalizedMessage with a code for each problem: rejects, repairs with a warning, or passes.
import type * as z from 'zod'
import { cleanName, cleanText } from '../lib/clean-text.ts'
import { isPlainObject } from '../lib/json.ts'
import { isCanonicalAddress, isValidAgentAddress } from './address.ts'
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
  if (isMessageAlreadyClean(input)) return findSemanticFault(input, scope) ?? { ok: true, message: input, warnings: [] }
  const warnings: RepairCode[] = []
  const isResolutionTrusted = scope.from === 'storage' || scope.resolutionVerified === true
  const repaired = repairMessage(input, isResolutionTrusted, warnings)
  const parsed = normalizedMessageSchema.safeParse(repaired)
  if (!parsed.success) return toRejection(parsed.error, repaired)
  const fault = findSemanticFault(parsed.data, scope)
  if (fault !== undefined) return fault
  return { ok: true, message: parsed.data, warnings }
}

function findSemanticFault(message: NormalizedMessage, scope: ValidationScope): MessageValidation | undefined {
  if (!isValidAgentAddress(message.recipient)) return invalidMessage('NM_RECIPIENT_INVALID', 'recipient')
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

function invalidMessage(code: MessageCode, path: string): MessageValidation {
  return { ok: false, code, path }
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
      return senderErrorCode(path[1])
    case 'recipient_capabilities':
      return chooseCapabilitiesCode(path, input)
    case 'parts':
      return partErrorCode(path, input)
    default:
      return 'NM_MALFORMED'
  }
}

function senderErrorCode(field: string | undefined): MessageCode {
  if (field === undefined || field === 'address') return 'NM_SENDER_ADDRESS_INVALID'
  return ['auth_method', 'verified', 'identities'].includes(field) ? 'NM_AUTH_INCONSISTENT' : 'NM_MALFORMED'
}

function chooseCapabilitiesCode(path: readonly string[], input: unknown): MessageCode {
  if (path[1] === 'agent_chain') return 'NM_CHAIN_INVALID'
  if (path[1] === 'rendering') return 'NM_MALFORMED'
  const relay = readProperty(readProperty(input, 'recipient_capabilities'), 'mention_relay')
  return relay === undefined || relay === null ? 'NM_CAPABILITIES_MISSING' : 'NM_RELAY_INVALID'
}

function partErrorCode(path: readonly string[], input: unknown): MessageCode {
  const parts = readProperty(input, 'parts')
  if (Array.isArray(parts) && parts.length === 0) return 'NM_PARTS_EMPTY'
  const part = Array.isArray(parts) ? parts[Number(path[1])] : undefined
  const issue = partParserFor(readProperty(part, 'kind')).safeParse(part).error?.issues[0]
  const field = issue?.path[0]
  if (field === 'mime' && readProperty(part, 'kind') === 'text') return 'NM_TEXT_MIME'
  return field === 'bytes_ref' ? 'NM_BYTESREF_INVALID' : 'NM_PART_INVALID'
}

function readProperty(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[key] : undefined
}

// The usual message is recognized without the schema: one look at each field instead of a copy of all of them. It only ever says
// that the schema would take a message as it stands; whatever else there is goes to the schema.

type Rule =
  | { readonly kind: 'anything' | 'record' | 'count' }
  | { readonly kind: 'one_of'; readonly values: ReadonlySet<unknown> }
  | { readonly kind: 'either'; readonly rules: readonly Rule[] }
  | { readonly kind: 'list'; readonly item: Rule; readonly min: number; readonly max: number }
  | { readonly kind: 'object'; readonly fields: ReadonlyMap<string, Rule>; readonly required: readonly string[] }
  | ({ readonly kind: 'text' } & TextBounds)

type TextBounds = {
  readonly min: number
  readonly max: number
  readonly pattern: RegExp | undefined
  /** Without white space around it, so that nothing would be cut off. */
  readonly isTrimmed: boolean
  /** Cleaning would leave it as it is. */
  readonly clean: ((text: string) => string) | undefined
}

/** Whether the schema would take a value as it stands: every field known and as it should be, none missing that must be there. */
function fitsRule(rule: Rule, value: unknown): boolean {
  switch (rule.kind) {
    case 'text':
      return (
        typeof value === 'string' &&
        value.length >= rule.min &&
        value.length <= rule.max &&
        (rule.pattern === undefined || rule.pattern.test(value)) &&
        (!rule.isTrimmed || value.trim() === value) &&
        (rule.clean === undefined || rule.clean(value) === value)
      )
    case 'one_of':
      return rule.values.has(value)
    case 'object':
      if (!isPlainObject(value)) return false
      // An unknown field would be left out.
      for (const name in value) {
        const field = rule.fields.get(name)
        if (field === undefined || !fitsRule(field, value[name])) return false
      }
      for (const name of rule.required) if (value[name] === undefined) return false
      return true
    case 'list':
      if (!Array.isArray(value) || value.length < rule.min || value.length > rule.max) return false
      // Place by place: a list with a hole in it is no list of anything.
      for (let index = 0; index < value.length; index += 1) if (!fitsRule(rule.item, value[index])) return false
      return true
    case 'either':
      for (const each of rule.rules) if (fitsRule(each, value)) return true
      return false
    case 'record': {
      if (!isPlainObject(value)) return false
      const prototype: unknown = Object.getPrototypeOf(value)
      return (prototype === Object.prototype || prototype === null) && !Object.hasOwn(value, '__proto__')
    }
    case 'count':
      return Number.isSafeInteger(value) && Number(value) > 0
    case 'anything':
      return true
  }
}

function objectRule(required: Readonly<Record<string, Rule>>, optional: Readonly<Record<string, Rule>> = {}): Rule {
  return {
    kind: 'object',
    fields: new Map(Object.entries({ ...required, ...optional })),
    required: Object.keys(required),
  }
}

function listRule(item: Rule, min = 0, max = Number.POSITIVE_INFINITY): Rule {
  return { kind: 'list', item, min, max }
}

function oneOfValuesRule(...values: readonly unknown[]): Rule {
  return { kind: 'one_of', values: new Set(values) }
}

function eitherRule(...rules: readonly Rule[]): Rule {
  return { kind: 'either', rules }
}

function textRule({
  min = 0,
  max = Number.POSITIVE_INFINITY,
  pattern,
  isTrimmed = false,
  clean,
}: Partial<TextBounds> = {}): Rule {
  return { kind: 'text', min, max, pattern, isTrimmed, clean }
}

const record: Rule = { kind: 'record' }
const flag = oneOfValuesRule(true, false)
const anyText = textRule()
const someText = textRule({ min: 1 })
const cleanWords = textRule({ max: maxTextLength, clean: cleanText })
const cleanLabel = textRule({ clean: cleanName })
const trimmedTextRule = (max: number): Rule => textRule({ min: 1, max, isTrimmed: true })
/** Printable ASCII: the schema lets more through, and looks closer. */
const printableAsciiIdRule = (max: number): Rule => textRule({ min: 1, max, pattern: /^[\x20-\x7e]*$/ })
const idOrNull = eitherRule(textRule({ min: 1, isTrimmed: true }), oneOfValuesRule(null))
const slug = textRule({ pattern: /^[a-z0-9][a-z0-9-]*$/ })

// As a clock writes it. The 29th of February is looked up in the schema.
const monthDay =
  '(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|02-(?:0[1-9]|1\\d|2[0-8]))'
const instant = textRule({ pattern: new RegExp(`^\\d{4}-${monthDay}T(?:[01]\\d|2[0-3]):[0-5]\\d:[0-5]\\d\\.\\d{3}Z$`) })

const plainIdentity = objectRule(
  {
    subject: trimmedTextRule(512),
    issuer: trimmedTextRule(512),
    method: trimmedTextRule(256),
    assurance: trimmedTextRule(256),
    audience: anyText,
    issued_at: instant,
    proof: eitherRule(
      objectRule({ type: oneOfValuesRule('transport'), verified_by: trimmedTextRule(512) }, { key_id: anyText }),
      objectRule({ type: oneOfValuesRule('bearer-token'), verified_by: trimmedTextRule(512) }, { token_id: anyText }),
    ),
  },
  { claims: record },
)

const plainSender = objectRule(
  {
    address: anyText,
    auth_method: someText,
    verified: oneOfValuesRule(true),
    identities: listRule(plainIdentity, 1, 16),
  },
  {
    display_name: cleanLabel,
    key_id: anyText,
    profile: objectRule(
      {},
      {
        display_name: cleanLabel,
        username: cleanLabel,
        url: anyText,
        locale: anyText,
        timezone: anyText,
        provider: anyText,
        provider_subject: anyText,
        fetched_at: anyText,
        extensions: record,
      },
    ),
  },
)

const plainCapabilities = objectRule(
  {
    mention_relay: eitherRule(
      objectRule({ kind: oneOfValuesRule('inline', 'none') }),
      objectRule({ kind: oneOfValuesRule('recipient-field'), fields: listRule(oneOfValuesRule('to', 'cc'), 1) }),
      objectRule({
        kind: oneOfValuesRule('addressing'),
        envelope_fields: listRule(oneOfValuesRule('to', 'cc'), 1),
        also_inline: oneOfValuesRule(true),
      }),
    ),
  },
  {
    rendering: objectRule(
      {},
      {
        max_text_chars: { kind: 'count' },
        markdown: anyText,
        streaming: oneOfValuesRule('native', 'edit', 'none'),
        files: flag,
        buttons: flag,
      },
    ),
  },
)

const plainChannel = objectRule(
  {
    connector_id: slug,
    external_provider: slug,
    external_conversation_id: idOrNull,
    external_message_id: idOrNull,
    sender_id: idOrNull,
    room_kind: oneOfValuesRule('dm', 'group', 'channel', null),
    from_self: flag,
    addressed: oneOfValuesRule('mention', 'reply', 'dm', 'thread', 'command', 'none'),
    visibility: oneOfValuesRule('public', 'unlisted', 'followers', 'direct', 'private'),
    mentions: listRule(objectRule({ text: anyText }, { subject: anyText })),
    event: oneOfValuesRule('new', 'edit', 'delete'),
  },
  {
    target_id: anyText,
    run_id: anyText,
    sender_kind: oneOfValuesRule('person', 'machine'),
    main_line: textRule({ min: 1, max: 512 }),
    command: objectRule({ name: someText, args: anyText }),
  },
)

const plainTextPart = objectRule({
  kind: oneOfValuesRule('text'),
  mime: oneOfValuesRule('text/plain', 'text/markdown', 'text/html'),
  content: cleanWords,
})

const plainMessage = objectRule(
  {
    id: printableAsciiIdRule(512),
    thread_id: printableAsciiIdRule(1024),
    sender: plainSender,
    recipient: anyText,
    parts: listRule(plainTextPart, 1, maxParts),
    recipient_capabilities: plainCapabilities,
    received_via: someText,
    received_at: instant,
    raw: { kind: 'anything' },
  },
  { in_reply_to: cleanWords, channel: plainChannel },
)

/** True: repairing would leave it as it is, and the schema would take it and change nothing. */
export function isMessageAlreadyClean(input: unknown): input is NormalizedMessage {
  return fitsRule(plainMessage, input)
}

// The repairs of message validation: what is put right before a message is judged, with a warning where it matters.

type Loose = Record<string, unknown>
/** The codes that a repair may leave behind as a warning. */
export type RepairCode = 'NM_HISTORY_ORDER' | 'NM_HISTORY_ROLE' | 'NM_RESOLUTION_UNTRUSTED'

/** Answers a changed copy; the input stays as it came. Text and names are cleaned, history is put in order. */
export function repairMessage(input: unknown, isResolutionTrusted: boolean, warnings: RepairCode[]): unknown {
  if (!isLooseObject(input)) return input
  const message: Loose = { ...input }
  if ('policy_resolution' in message && !isResolutionTrusted) {
    delete message['policy_resolution']
    warnings.push('NM_RESOLUTION_UNTRUSTED')
  }
  changePropertyIfDefined(message, 'in_reply_to', cleanTextIfString)
  changePropertyIfDefined(message, 'sender', repairSender)
  changePropertyIfDefined(message, 'parts', repairParts)
  changePropertyIfDefined(message, 'history', (history) =>
    Array.isArray(history) ? repairHistory(history, warnings) : history,
  )
  return message
}

function repairHistory(history: readonly unknown[], warnings: RepairCode[]): readonly unknown[] {
  const known = history.filter(
    (turn) => isLooseObject(turn) && (turn['role'] === 'user' || turn['role'] === 'assistant'),
  )
  if (known.length < history.length) warnings.push('NM_HISTORY_ROLE')
  const times = listTurnTimes(known)
  const order = known.map((_, index) => index).toSorted((a, b) => (times[a] ?? 0) - (times[b] ?? 0))
  if (order.some((from, to) => from !== to)) warnings.push('NM_HISTORY_ORDER')
  return order.map((index) => repairHistoryTurn(known[index]))
}

/** A turn without a readable time keeps its place behind the turn before it. */
function listTurnTimes(turns: readonly unknown[]): readonly number[] {
  let last = Number.NEGATIVE_INFINITY
  return turns.map((turn) => {
    const time = isLooseObject(turn) ? Date.parse(String(turn['timestamp'])) : Number.NaN
    if (!Number.isNaN(time)) last = time
    // Two turns before all times must compare as equal, which minus infinity does not.
    return Math.max(last, Number.MIN_SAFE_INTEGER)
  })
}

function repairHistoryTurn(turn: unknown): unknown {
  if (!isLooseObject(turn)) return turn
  const copy: Loose = { ...turn }
  changePropertyIfDefined(copy, 'sender', repairSender)
  changePropertyIfDefined(copy, 'parts', repairParts)
  return copy
}

function repairSender(sender: unknown): unknown {
  if (!isLooseObject(sender)) return sender
  const copy: Loose = { ...sender }
  changePropertyIfDefined(copy, 'display_name', cleanNameIfString)
  changePropertyIfDefined(copy, 'profile', (profile) => {
    if (!isLooseObject(profile)) return profile
    const shown: Loose = { ...profile }
    changePropertyIfDefined(shown, 'display_name', cleanNameIfString)
    changePropertyIfDefined(shown, 'username', cleanNameIfString)
    return shown
  })
  return copy
}

function repairParts(parts: unknown): unknown {
  if (!Array.isArray(parts)) return parts
  return parts.map((part: unknown) => {
    if (!isLooseObject(part) || part['kind'] !== 'text') return part
    const copy: Loose = { ...part }
    changePropertyIfDefined(copy, 'content', cleanTextIfString)
    return copy
  })
}

function changePropertyIfDefined(target: Loose, key: string, change: (value: unknown) => unknown): void {
  if (target[key] !== undefined) target[key] = change(target[key])
}

function cleanTextIfString(value: unknown): unknown {
  return typeof value === 'string' ? cleanText(value) : value
}

function cleanNameIfString(value: unknown): unknown {
  return typeof value === 'string' ? cleanName(value) : value
}

function isLooseObject(value: unknown): value is Loose {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
