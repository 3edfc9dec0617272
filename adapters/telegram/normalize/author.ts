// Who wrote: a person by number, or a chat that speaks for itself; and the evidence for it. Pure.
import {
  cleanName,
  formatAddress,
  mintEvidence,
  type NormalizedMessage,
  verifiedSender,
} from '../../../src/contract/index.ts'
import type { TelegramChat, TelegramMessage, TelegramUser } from '../wire/message.ts'
import { agentAddress, type UpdateContext } from './scene.ts'

export type Author = {
  readonly subject: string
  readonly local: string
  readonly id: string
  readonly method: string
  readonly name: string
  readonly username: string | undefined
  readonly locale: string | undefined
}

/** Anonymous admins and channels write through placeholder bots: then the chat is the author, and never a person. */
export function updateAuthor({
  from,
  sender_chat,
  chat,
}: Pick<TelegramMessage, 'from' | 'sender_chat' | 'chat'>): Author | undefined {
  const writer = sender_chat ?? (from === undefined ? chat : undefined)
  if (writer === undefined) return from === undefined ? undefined : personAuthor(from)
  if (sender_chat === undefined && chat.type !== 'channel') return undefined
  return {
    subject: `telegram:chat/${writer.id}`,
    local: `c${writer.id}`,
    id: writer.id,
    method: 'urn:gw:auth:telegram-sender-chat:v0.1',
    name: cleanName(writer.title ?? ''),
    username: writer.username,
    locale: undefined,
  }
}

export function personAuthor(from: TelegramUser): Author {
  return {
    subject: `telegram:${from.id}`,
    local: `u${from.id}`,
    id: from.id,
    method: 'urn:gw:auth:telegram-user:v0.1',
    name: cleanName(`${from.first_name} ${from.last_name ?? ''}`),
    username: from.username,
    locale: from.language_code,
  }
}

export function telegramSender(
  { bot, arrival, connection }: UpdateContext,
  author: Author,
  chat: TelegramChat,
): NormalizedMessage['sender'] {
  const profile = {
    ...(author.name === '' ? {} : { display_name: author.name }),
    ...(author.username === undefined ? {} : { username: author.username }),
    ...(author.locale === undefined ? {} : { locale: author.locale }),
    provider: 'telegram',
    provider_subject: author.subject,
  }
  const evidence = mintEvidence({
    subject: author.subject,
    issuer: connection.domain,
    method: author.method,
    assurance: 'platform',
    recipient: agentAddress(connection),
    issuedAt: arrival.receivedAt,
    keyId: bot.id,
    claims: { chat_id: chat.id, chat_type: chat.type },
  })
  return verifiedSender([evidence], {
    address: formatAddress({ local: author.local, domain: `telegram.${connection.domain}` }),
    ...(author.name === '' ? {} : { display_name: author.name }),
    profile,
    auth_method: 'telegram-secret-token',
    key_id: bot.id,
  })
}
