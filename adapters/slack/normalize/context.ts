// The context that every kind of inbound event shares: whose installation it is, who wrote it, and where the reply goes. Pure.

import {
  type ChannelContext,
  type Connection,
  formatAddress,
  mintEvidence,
  type NormalizedMessage,
  type RawRequest,
  UnparsableEventError,
  verifiedSender,
} from '../../../src/contract/index.ts'
import { cleanName, type JsonObject } from '../../../src/lib/index.ts'
import { maxTextLength, type SlackEnvelope } from '../wire.ts'

/** What the operator says about the app, and what it takes from others. */
export type AppFacts = {
  readonly botUserId: string | undefined
  readonly appId: string | undefined
  readonly allowBots: ReadonlySet<string>
  /** Messages of bots that are answered in a thread before a person must have spoken again. */
  readonly botHops: number
  readonly slashCommand: string
  /** Whether names in a reply can call others. */
  readonly relaysNames: boolean
}

/** The installation an event belongs to: a workspace, or a whole organization. */
export type AppInstallation = {
  /** Whose token is used: E… for an organization, T… for a workspace. */
  readonly account: string
  readonly isOrg: boolean
  readonly team: string | undefined
  readonly enterprise: string | undefined
  readonly appId: string | undefined
  readonly botUserId: string | undefined
  readonly isShared: boolean
}

/** One signed payload, and what was known before it came. */
export type Incoming = {
  readonly app: AppFacts
  readonly rawRequest: RawRequest
  readonly connection: Connection
  /** By which name the `response_url` is kept. */
  readonly response?: string | undefined
  /** A bot has spoken too often since a person did. */
  readonly isBeyondHops?: boolean
  /** What the sender had open, as far as it was told before. */
  readonly viewed?: ChannelContext['context']
}

export type EventContext = Incoming & {
  readonly place: AppInstallation
  readonly deliveryId: string
  readonly raw: unknown
}

export type Fields = Readonly<Record<string, unknown>>

/** Passwords for a while, and an old shared one: what is kept does without them. */
const secretFields: ReadonlySet<string> = new Set(['token', 'response_url', 'response_urls', 'trigger_id'])

export function withoutSlackSecrets(value: Fields): Fields {
  const kept: Record<string, unknown> = {}
  for (const name of Object.keys(value)) if (!secretFields.has(name)) kept[name] = value[name]
  return kept
}

/** Which installation an event is for: the envelope's own team may be the other side of a shared channel. */
export function resolveInstallation(app: AppFacts, envelope: SlackEnvelope): AppInstallation {
  const authorization = envelope.authorizations?.[0]
  const isOrg = authorization?.is_enterprise_install === true
  const enterprise = authorization?.enterprise_id ?? envelope.enterprise_id
  const team = authorization?.team_id ?? envelope.context_team_id ?? envelope.team_id
  // What happens to an organization's own installation names no workspace.
  const account = isOrg ? enterprise : (team ?? enterprise)
  if (account === undefined) throw new UnparsableEventError('no_installation')
  const bot = authorization?.is_bot === true ? authorization.user_id : undefined
  return {
    account,
    isOrg: isOrg || team === undefined,
    team,
    enterprise,
    appId: app.appId ?? envelope.api_app_id,
    botUserId: bot ?? app.botUserId,
    isShared: envelope.is_ext_shared_channel === true,
  }
}

export type Author = {
  readonly id: string
  /** The organization or the workspace they belong to; an id alone names different people in different places. */
  readonly home: string
  readonly isExternal: boolean
  readonly isBot: boolean
  readonly isGuest: boolean
  readonly name: string
  readonly username: string
}

/** Home of a person whose own team is given: ours, our organization's, or a stranger's. */
export function resolveAuthorTeam(
  place: AppInstallation,
  team: string | undefined,
): Pick<Author, 'home' | 'isExternal'> {
  const ours = place.enterprise ?? place.team ?? place.account
  const isOther = team !== undefined && team !== place.team && team !== place.enterprise
  // Inside an organization another workspace is no stranger, unless the channel is shared with one.
  const isExternal = isOther && (place.enterprise === undefined || place.isShared)
  return isExternal ? { home: team, isExternal } : { home: ours, isExternal: false }
}

export function slackSubject({ home, id }: Pick<Author, 'home' | 'id'>): string {
  return `slack:${home}/${id}`
}

const methods = {
  member: 'urn:mentionable:auth:slack-workspace-member:v0.1',
  bot: 'urn:gw:auth:slack-bot:v0.1',
  botMention: 'urn:mentionable:auth:platform-mention:v0.1',
} as const

export function slackSender(
  { place, rawRequest, connection }: EventContext,
  author: Author,
  about: { readonly channel: string; readonly isMention: boolean },
): NormalizedMessage['sender'] {
  const subject = slackSubject(author)
  const keyId = `${place.appId ?? 'app'}:${place.account}`
  const evidence = mintEvidence({
    subject,
    issuer: connection.domain,
    // A bot is never a member; what it proves is that it called us, or that it wrote.
    method: author.isBot ? (about.isMention ? methods.botMention : methods.bot) : methods.member,
    assurance: 'platform',
    recipient: agentAddress(connection),
    issuedAt: rawRequest.receivedAt,
    keyId,
    claims: {
      account: place.account,
      channel: about.channel,
      ...(author.isExternal ? { external: true } : {}),
      ...(author.isGuest ? { member_type: 'guest' } : {}),
    },
  })
  const name = cleanName(author.name)
  const username = cleanName(author.username)
  return verifiedSender([evidence], {
    address: formatAddress({
      local: `${author.id}.${author.home}`.toLowerCase(),
      domain: `slack.${connection.domain}`,
    }),
    ...(name === '' ? {} : { display_name: name }),
    profile: {
      ...(name === '' ? {} : { display_name: name }),
      ...(username === '' ? {} : { username }),
      provider: 'slack',
      provider_subject: subject,
    },
    auth_method: 'slack-signature',
    key_id: keyId,
  })
}

export function chooseRoomKind(channel: string, type: string | undefined): 'dm' | 'group' | 'channel' {
  if (type === 'im' || type === 'app_home' || channel.startsWith('D')) return 'dm'
  return type === 'mpim' || type === 'group' || channel.startsWith('G') ? 'group' : 'channel'
}

export function slackThreadId({ account }: AppInstallation, channel: string, thread: string | undefined): string {
  return thread === undefined ? `${account}:${channel}` : `${account}:${channel}:${thread}`
}

export function slackReplyAddress(
  place: AppInstallation,
  channel: string,
  thread: string | undefined,
  author: Author,
): JsonObject {
  return {
    account: place.account,
    ...(place.isOrg && place.team !== undefined ? { team_id: place.team } : {}),
    channel,
    ...(thread === undefined ? {} : { thread_ts: thread }),
    reply_to_user: author.id,
    ...(place.team === undefined ? {} : { reply_to_team: author.isExternal ? author.home : place.team }),
  }
}

export function slackRecipientCapabilities({ relaysNames }: AppFacts): NormalizedMessage['recipient_capabilities'] {
  return {
    mention_relay: { kind: relaysNames ? 'inline' : 'none' },
    rendering: { max_text_chars: maxTextLength, streaming: 'native', files: true, buttons: true },
  }
}

export function baseChannelContext(
  { connection }: EventContext,
  facts: Pick<ChannelContext, 'external_conversation_id' | 'external_message_id' | 'sender_id' | 'room_kind'>,
): Omit<ChannelContext, 'addressed' | 'mentions' | 'event'> {
  return {
    connector_id: connection.id,
    external_provider: 'slack',
    ...facts,
    from_self: false,
    visibility: facts.room_kind === 'dm' ? 'direct' : 'private',
  }
}

export function agentAddress(connection: Connection): string {
  return formatAddress({ local: connection.agent, domain: connection.domain })
}

/** Slack's times are seconds with a counter behind the point. */
export function tsToIsoTime(ts: string): string {
  return new Date(Math.trunc(Number(ts.split('.')[0]) * 1000)).toISOString()
}
