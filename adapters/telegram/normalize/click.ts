// Hop 3: a press on one of our buttons, and on Telegram's own stop button. Each is the command it stands for. Pure.
import type { Arrived, ArrivedMessage, JsonObject } from '../../../src/contract/index.ts'
import { textPart } from '../../../src/contract/index.ts'
import { commandOfButton } from '../wire/button.ts'
import type { TelegramChat, TelegramClick, TelegramUpdate } from '../wire/message.ts'
import { topicOf } from '../wire/words.ts'
import { type Author, personOf } from './author.ts'
import { contextOf, normalizedMessage } from './context.ts'
import { chatKeyOf, type Scene, threadOf } from './scene.ts'

type Pressed = {
  readonly id: string
  readonly author: Author
  readonly chat: TelegramChat
  readonly threadId: string
  readonly command: { readonly name: string; readonly args: string }
  readonly replyTo: JsonObject
}

/** The person who presses is the sender, also where they write anonymously; what a client sends back proves no button. */
export function fromClick(scene: Scene, click: TelegramClick): Arrived {
  const author = personOf(click.from)
  const command = commandOfButton(click.data ?? '')
  if (command === undefined || click.from.is_bot) {
    const { deliveryId, raw } = scene
    return { kind: 'ignored', reason: 'unknown_button', isNoise: false, deliveryId, subject: author.subject, raw }
  }
  const card = click.message ?? { chat: { id: click.from.id, type: 'private' } }
  const topic = click.message === undefined ? undefined : topicOf(click.message)
  const { business_connection_id: business } = click.message ?? {}
  const pressed = {
    id: click.id,
    ...(click.message === undefined ? {} : { message_id: click.message.message_id }),
    ...(click.inline_message_id === undefined ? {} : { inline_message_id: click.inline_message_id }),
  }
  return pressedMessage(scene, {
    id: `click:${click.id}`,
    author,
    chat: card.chat,
    threadId: threadOf(scene.bot, chatKeyOf(card), topic),
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
export function fromStop(scene: Scene, stopped: NonNullable<TelegramUpdate['stopped_message_generation']>): Arrived {
  const { chat, message_thread_id: topic, draft_id: draft } = stopped
  return pressedMessage(scene, {
    id: `stop:${chat.id}:${draft}`,
    author: personOf({ id: chat.id, is_bot: false, first_name: '' }),
    chat,
    threadId: threadOf(scene.bot, chat.id, topic),
    command: { name: 'stop', args: '' },
    replyTo: { chat_id: chat.id, ...(topic === undefined ? {} : { message_thread_id: topic }) },
  })
}

function pressedMessage(scene: Scene, { id, author, chat, threadId, command, replyTo }: Pressed): ArrivedMessage {
  const channel = contextOf(scene, { chat, author, messageId: null, addressed: 'command', event: 'new', command })
  return {
    kind: 'message',
    message: normalizedMessage(scene, {
      id: `${scene.bot.id}:${id}`,
      thread_id: threadId,
      parts: [textPart(`/${command.name} ${command.args}`.trim())],
      chat,
      author,
      channel,
    }),
    agent: scene.connection.agent,
    semanticId: id,
    version: '0',
    isSenderChosenId: false,
    deliveryId: scene.deliveryId,
    subject: author.subject,
    thread: { candidates: [threadId], vouched: true, fresh: threadId },
    replyTo,
    obligation: 'click',
  }
}
