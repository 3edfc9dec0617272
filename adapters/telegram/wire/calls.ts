// Bot API calls as data, and where a reply goes.
import * as z from 'zod'

/** Longest text of one message; Telegram counts code points after parsing, UTF-16 units are never fewer. */
export const maxTextLength = 4096
/** Longest text below a file. */
export const maxCaptionLength = 1024
/** Longest text of the answer to a press on a button. */
export const maxToastLength = 200
/** Bytes of what a button sends back. */
const maxButtonBytes = 64

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

/** Formatting beside a text: `offset` and `length` are UTF-16 units. */
export type Entity =
  | {
      readonly type: 'bold' | 'italic' | 'strikethrough' | 'code' | 'blockquote'
      readonly offset: number
      readonly length: number
    }
  | { readonly type: 'pre'; readonly offset: number; readonly length: number; readonly language?: string }
  | { readonly type: 'text_link'; readonly offset: number; readonly length: number; readonly url: string }

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

export type RichWords =
  | string
  | readonly RichWords[]
  | { readonly type: 'bold' | 'italic' | 'strikethrough' | 'code'; readonly text: RichWords }
  | { readonly type: 'url'; readonly text: RichWords; readonly url: string }
  | { readonly type: 'mention'; readonly text: RichWords; readonly username: string }

type RichCell = {
  readonly text: RichWords
  readonly is_header?: true
  readonly align: 'left' | 'center' | 'right'
  readonly valign: 'top'
}

type RichItem = {
  readonly blocks: readonly RichBlock[]
  readonly has_checkbox?: true
  readonly is_checked?: true
  readonly value?: number
  readonly type?: '1'
}

export type RichBlock =
  | { readonly type: 'paragraph'; readonly text: RichWords }
  | { readonly type: 'heading'; readonly size: 1 | 2 | 3 | 4 | 5 | 6; readonly text: RichWords }
  | { readonly type: 'pre'; readonly text: string; readonly language?: string }
  | { readonly type: 'blockquote'; readonly blocks: readonly RichBlock[] }
  | { readonly type: 'list'; readonly items: readonly RichItem[] }
  | {
      readonly type: 'table'
      readonly cells: readonly (readonly RichCell[])[]
      readonly is_bordered: true
      readonly is_striped: true
    }
  | { readonly type: 'divider' }

export type RichMessage = { readonly blocks: readonly RichBlock[]; readonly skip_entity_detection: true }

// A button of ours sends back a letter for the decision and the code of what is decided.

const letters = { approve: 'a', reject: 'r' } as const
const namePattern = /^([ar]):([0-9a-f]{6,36})$/

export type Decision = keyof typeof letters

/** Undefined where it would not fit, or would not be read back as what it was. */
export function encodeButtonValue(decision: Decision, code: string): string | undefined {
  const value = `${letters[decision]}:${code.toLowerCase()}`
  return namePattern.test(value) && value.length <= maxButtonBytes ? value : undefined
}

export function parseButtonCommand(value: string): { readonly name: Decision; readonly args: string } | undefined {
  const [, letter, code] = namePattern.exec(value) ?? []
  if (code === undefined) return undefined
  return { name: letter === letters.approve ? 'approve' : 'reject', args: code }
}
