// The message as adapters make it nearly always, recognized without the schema: one look at each field instead of a copy of
// all of them. It only ever says that the schema would take a message as it stands; whatever else there is goes to the schema.
import { cleanName } from './clean-name.ts'
import { cleanText } from './clean-text.ts'
import type { NormalizedMessage } from './message.ts'
import { maxParts, maxTextLength } from './parts.ts'

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
const among = (...words: readonly unknown[]): Rule => {
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

const isTransport = shape({ type: among('transport'), verified_by: isWord(512) }, { key_id: isString })
const isBearer = shape({ type: among('bearer-token'), verified_by: isWord(512) }, { token_id: isString })
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
    verified: among(true),
    identities: isListOf(isIdentity, 16, 1),
  },
  { display_name: isCleanName, profile: isProfile, key_id: isString },
)

const isBareRelay = shape({ kind: among('inline', 'none') })
const isFieldRelay = shape({
  kind: among('recipient-field'),
  fields: isListOf(among('to', 'cc'), Number.POSITIVE_INFINITY, 1),
})
const isAddressingRelay = shape({
  kind: among('addressing'),
  envelope_fields: isListOf(among('to', 'cc'), Number.POSITIVE_INFINITY, 1),
  also_inline: among(true),
})
const isCapabilities = shape(
  { mention_relay: (value) => isBareRelay(value) || isFieldRelay(value) || isAddressingRelay(value) },
  {
    rendering: shape(
      {},
      {
        max_text_chars: (value) => Number.isSafeInteger(value) && Number(value) > 0,
        markdown: isString,
        streaming: among('native', 'edit', 'none'),
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
    room_kind: among('dm', 'group', 'channel', null),
    from_self: isBoolean,
    addressed: among('mention', 'reply', 'dm', 'thread', 'command', 'none'),
    visibility: among('public', 'unlisted', 'followers', 'direct', 'private'),
    mentions: isListOf(shape({ text: isString }, { subject: isString }), Number.POSITIVE_INFINITY),
    event: among('new', 'edit', 'delete'),
  },
  {
    target_id: isString,
    run_id: isString,
    sender_kind: among('person', 'machine'),
    main_line: (value) => typeof value === 'string' && value !== '' && value.length <= 512,
    command: shape({ name: (value) => typeof value === 'string' && value !== '', args: isString }),
  },
)

const isTextPart = shape({
  kind: among('text'),
  mime: among('text/plain', 'text/markdown', 'text/html'),
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

function isPlainObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
