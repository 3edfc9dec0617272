// What Telegram refused in one form is tried once in a plainer one. Each step is an attempt of its own, so that the books show it;
// what is remembered here is only which form comes next, and forgetting it costs one more refusal.
import { withoutEntities } from '../render/text.ts'
import type { FileCall, TelegramCall, TextCall } from '../wire/call.ts'

export type Step = 'as_ranges' | 'plain' | 'as_document' | 'as_text' | 'as_new'

const maxRemembered = 1000

export interface Ladder {
  /** The call in the form that is due. */
  due(outboxId: string, call: TelegramCall): TelegramCall
  has(outboxId: string, step: Step): boolean
  take(outboxId: string, step: Step): void
  move(from: number, to: number): void
  /** This server knows no rich messages. */
  forgoRich(): void
  done(outboxId: string): void
}

export function createLadder(): Ladder {
  const steps = new Map<string, ReadonlySet<Step>>()
  const moved = new Map<number, number>()
  let isWithoutRich = false
  return {
    due(outboxId, call) {
      const start = isWithoutRich ? inForm(call, 'as_ranges') : call
      const formed = [...(steps.get(outboxId) ?? [])].reduce(inForm, start)
      const to = chatOf(formed) === undefined ? undefined : moved.get(chatOf(formed) ?? 0)
      return to === undefined ? formed : inChat(formed, to)
    },
    has: (outboxId, step) => steps.get(outboxId)?.has(step) ?? false,
    take(outboxId, step) {
      steps.set(outboxId, new Set([...(steps.get(outboxId) ?? []), step]))
      forgetOldest(steps)
    },
    move(from, to) {
      moved.set(from, to)
      forgetOldest(moved)
    },
    forgoRich() {
      isWithoutRich = true
    },
    done: (outboxId) => void steps.delete(outboxId),
  }
}

export function chatOf(call: TelegramCall): number | undefined {
  return 'chat_id' in call.payload ? call.payload.chat_id : undefined
}

/** Cast: only the number changes, the kind of call stays what it is. */
function inChat(call: TelegramCall, chatId: number): TelegramCall {
  return { ...call, payload: { ...call.payload, chat_id: chatId } } as TelegramCall
}

function inForm(call: TelegramCall, step: Step): TelegramCall {
  switch (step) {
    case 'as_ranges':
      return call.method === 'sendMessage' ? withoutRich(call) : call
    case 'plain':
      return call.method === 'sendMessage' ? plain(call) : call
    case 'as_document':
      return call.method === 'sendPhoto' ? { ...call, method: 'sendDocument' } : call
    case 'as_text':
      return 'file' in call ? namedFile(call) : call
    case 'as_new':
      return call.method === 'sendMessage' ? withoutLive(call) : call
    default:
      return step satisfies never
  }
}

function withoutRich({ rich: _refused, ...call }: TextCall): TextCall {
  return call
}

function withoutLive({ finishesLive: _gone, ...call }: TextCall): TextCall {
  return call
}

function plain(call: TextCall): TextCall {
  const { entities: _refused, ...payload } = call.payload
  return { ...call, payload: { ...payload, text: withoutEntities(payload.text) } }
}

function namedFile({ payload, file }: FileCall): TextCall {
  const text = withoutEntities(`[The file ${file.name} could not be sent: Telegram did not take it.]`)
  return { method: 'sendMessage', payload: { ...payload, text, link_preview_options: { is_disabled: true } } }
}

function forgetOldest(map: Map<unknown, unknown>): void {
  if (map.size <= maxRemembered) return
  const oldest = map.keys().next()
  if (!oldest.done) map.delete(oldest.value)
}
