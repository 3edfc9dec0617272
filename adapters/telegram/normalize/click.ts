// Hop 3: a press on one of our buttons, and on Telegram's own stop button. Each is the command it stands for. Pure.
import type { InboundEvent, InboundMessage, JsonObject } from '../../../src/contract/index.ts'
import { textPart } from '../../../src/contract/index.ts'
import { parseButtonCommand } from '../wire/button.ts'
import type { TelegramChat, TelegramClick, TelegramUpdate } from '../wire/message.ts'
import { forumTopicId } from '../wire/words.ts'
import { type Author, personAuthor } from './author.ts'
import { chatContext, normalizedMessage } from './context.ts'
import { formatChatKey, telegramThreadId, type UpdateContext } from './scene.ts'

type ButtonPress = {
  readonly id: string
  readonly author: Author
  readonly chat: TelegramChat
  readonly threadId: string
  readonly command: { readonly name: string; readonly args: string }
  readonly replyTo: JsonObject
}

/** The person who presses is the sender, also where they write anonymously; what a client sends back proves no button. */
export function normalizeButtonPress(updateContext: UpdateContext, click: TelegramClick): InboundEvent {
  const author = personAuthor(click.from)
  const command = parseButtonCommand(click.data ?? '')
  if (command === undefined || click.from.is_bot) {
    const { deliveryId, raw } = updateContext
    return { kind: 'ignored', reason: 'unknown_button', isNoise: false, deliveryId, subject: author.subject, raw }
  }
  const card = click.message ?? { chat: { id: click.from.id, type: 'private' } }
  const topic = click.message === undefined ? undefined : forumTopicId(click.message)
  const { business_connection_id: business } = click.message ?? {}
  const pressed = {
    id: click.id,
    ...(click.message === undefined ? {} : { message_id: click.message.message_id }),
    ...(click.inline_message_id === undefined ? {} : { inline_message_id: click.inline_message_id }),
  }
  return buttonPressMessage(updateContext, {
    id: `click:${click.id}`,
    author,
    chat: card.chat,
    threadId: telegramThreadId(updateContext.bot, formatChatKey(card), topic),
    command,
    replyTo: {
      chat_id: card.chat.id,
      ...(topic === undefined ? {} : { message_thread_id: topic }),
      ...(business === undefined ? {} : { business_connection_id: business }),
      reply_to_click: pressed,
    },
  })
}

/** Only private chats have drafts that can be stopped, so whose chat it is pressed the button. */
export function normalizeStopRequest(
  updateContext: UpdateContext,
  stopped: NonNullable<TelegramUpdate['stopped_message_generation']>,
): InboundEvent {
  const { chat, message_thread_id: topic, draft_id: draft } = stopped
  return buttonPressMessage(updateContext, {
    id: `stop:${chat.id}:${draft}`,
    author: personAuthor({ id: chat.id, is_bot: false, first_name: '' }),
    chat,
    threadId: telegramThreadId(updateContext.bot, chat.id, topic),
    command: { name: 'stop', args: '' },
    replyTo: { chat_id: chat.id, ...(topic === undefined ? {} : { message_thread_id: topic }) },
  })
}

function buttonPressMessage(
  updateContext: UpdateContext,
  { id, author, chat, threadId, command, replyTo }: ButtonPress,
): InboundMessage {
  const channel = chatContext(updateContext, {
    chat,
    author,
    messageId: null,
    addressed: 'command',
    event: 'new',
    command,
  })
  return {
    kind: 'message',
    message: normalizedMessage(updateContext, {
      id: `${updateContext.bot.id}:${id}`,
      thread_id: threadId,
      parts: [textPart(`/${command.name} ${command.args}`.trim())],
      chat,
      author,
      channel,
    }),
    agent: updateContext.connection.agent,
    semanticId: id,
    version: '0',
    isSenderChosenId: false,
    deliveryId: updateContext.deliveryId,
    subject: author.subject,
    thread: { candidates: [threadId], vouched: true, fresh: threadId },
    replyTo,
    obligation: 'click',
  }
}
