// Bot API calls as data, and where an answer goes.
import * as z from 'zod'
import type { Entity } from '../../../src/markdown/index.ts'
import type { RichMessage } from './rich.ts'

/** Longest text of one message; Telegram counts code points after parsing, UTF-16 units are never fewer. */
export const maxTextLength = 4096
/** Longest text below a file. */
export const maxCaptionLength = 1024
/** Longest text of the answer to a press on a button. */
export const maxToastLength = 200
/** Bytes of what a button sends back. */
export const maxButtonBytes = 64

export const replyToSchema = z.object({
  chat_id: z.string(),
  message_thread_id: z.string().optional(),
  direct_messages_topic_id: z.string().optional(),
  reply_to_message_id: z.string().optional(),
  business_connection_id: z.string().optional(),
  /** Set where the answer may only go out as the answer to this query. */
  guest_query_id: z.string().optional(),
  /** Set where a button was pressed: the press itself, and the message the button hangs on. */
  reply_to_click: z
    .object({ id: z.string(), message_id: z.string().optional(), inline_message_id: z.string().optional() })
    .optional(),
})

/** Where an answer goes; the gateway keeps it as it is. */
export type TelegramReplyTo = z.infer<typeof replyToSchema>

export type Button =
  | { readonly text: string; readonly callback_data: string }
  | { readonly text: string; readonly url: string }

export type Keyboard = { readonly inline_keyboard: Button[][] }

export type TextPayload = {
  readonly chat_id: number
  readonly text: string
  readonly link_preview_options: { readonly is_disabled: true }
  readonly entities?: Entity[]
  readonly business_connection_id?: string
  readonly reply_markup?: Keyboard
}

export type Place = {
  readonly message_thread_id?: number
  readonly direct_messages_topic_id?: number
  readonly reply_parameters?: { readonly message_id: number; readonly allow_sending_without_reply: true }
}

/** A text that is sent, or that finishes the live message of its reply where one is there. */
export type TextCall = {
  readonly method: 'sendMessage'
  readonly payload: TextPayload & Place
  readonly finishesLive?: true
  /** The same words as a rich message: tried first, and what is refused is sent as the text. */
  readonly rich?: RichMessage
}

export type EditCall = {
  readonly method: 'editMessageText'
  readonly payload: TextPayload & { readonly message_id: number }
}

/** What a file is sent as. */
export type FileMethod = 'sendPhoto' | 'sendVideo' | 'sendAnimation' | 'sendAudio' | 'sendVoice' | 'sendDocument'

export type FilePayload = Place & {
  readonly chat_id: number
  readonly business_connection_id?: string
  readonly caption?: string
  readonly caption_entities?: Entity[]
}

type StoredFile = { readonly attachment: string; readonly name: string }

/** A stored file to be uploaded; its bytes are opened when it is sent. */
export type FileCall = { readonly method: FileMethod; readonly payload: FilePayload; readonly file: StoredFile }

export type AlbumItem = StoredFile & { readonly kind: 'photo' | 'video' | 'audio' | 'document' }

/** Files that are shown together: pictures and videos, or sounds, or documents. */
export type AlbumCall = {
  readonly method: 'sendMediaGroup'
  readonly payload: FilePayload
  readonly files: readonly AlbumItem[]
}

/** Tells the person who pressed a button what came of it; clients wait for it. */
export type ToastCall = {
  readonly method: 'answerCallbackQuery'
  readonly payload: { readonly callback_query_id: string; readonly text?: string; readonly show_alert?: true }
}

/** Takes the buttons off a message. */
export type BareCall = {
  readonly method: 'editMessageReplyMarkup'
  readonly payload:
    | { readonly chat_id: number; readonly message_id: number; readonly business_connection_id?: string }
    | { readonly inline_message_id: string }
}

/** The one answer a guest gets. */
export type GuestCall = {
  readonly method: 'answerGuestQuery'
  readonly payload: { readonly guest_query_id: string; readonly text: string; readonly entities?: Entity[] }
}

/** One Bot API call as data. */
export type TelegramCall = TextCall | EditCall | FileCall | AlbumCall | ToastCall | BareCall | GuestCall
