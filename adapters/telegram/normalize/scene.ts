// What every reader of an update is given, and the names of things made from it. Pure.
import { type Connection, formatAddress, type RawRequest } from '../../../src/contract/index.ts'

/** Who we are on Telegram; without a user name only replies and mentions by id can be recognised in groups. */
export type BotFacts = {
  readonly id: string
  readonly username: string | undefined
  readonly streaming: 'edit' | 'draft' | 'off'
}

export type UpdateContext = {
  readonly bot: BotFacts
  readonly arrival: RawRequest
  readonly connection: Connection
  readonly deliveryId: string
  readonly raw: unknown
}

type Room = {
  readonly chat: { readonly id: string }
  readonly business_connection_id?: string | undefined
  readonly guest_query_id?: string | undefined
}

/** The chats of a business account, and those we are a guest in, live beside the bot's own chats with the same ids. */
export function formatChatKey({ chat, business_connection_id: business, guest_query_id: guest }: Room): string {
  if (business !== undefined) return `${business}/${chat.id}`
  return guest === undefined ? chat.id : `guest/${chat.id}`
}

export function telegramThreadId(bot: BotFacts, chatKey: string, topic: string | undefined): string {
  return `${bot.id}:${chatKey}:${topic ?? 'main'}`
}

export function agentAddress(connection: Connection): string {
  return formatAddress({ local: connection.agent, domain: connection.domain })
}
