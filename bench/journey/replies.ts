// Which updates of a subject were answered at the stand-in, and how often: none may be lost, none answered twice.
import { readReplyNumber } from './updates.ts'

export type ReplyCounts = {
  /** Updates without a reply, or without one in time. */
  readonly lost: number
  /** Replies beyond the first of an update, and replies to none. */
  readonly doubled: number
}

export type ReplyLedger = {
  /** A number for the next update, and when its reply arrives; undefined when it does not in time. */
  readonly expectReply: () => { readonly number: number; readonly replied: Promise<number | undefined> }
  readonly recordReply: (text: string) => void
  readonly countReplies: () => ReplyCounts
}

export function createReplyLedger(timeoutMs: number, now: () => number = () => performance.now()): ReplyLedger {
  const replies: number[] = []
  const waiting = new Map<number, (at: number | undefined) => void>()
  const late = new Set<number>()
  let unknown = 0
  return {
    expectReply() {
      const number = replies.push(0) - 1
      const replied = new Promise<number | undefined>((resolve) => {
        const timer = setTimeout(() => {
          late.add(number)
          end(undefined)
        }, timeoutMs)
        const end = (at: number | undefined): void => {
          clearTimeout(timer)
          waiting.delete(number)
          resolve(at)
        }
        waiting.set(number, end)
      })
      return { number, replied }
    },
    recordReply(text) {
      const number = readReplyNumber(text)
      if (number === undefined || replies[number] === undefined) {
        unknown += 1
        return
      }
      replies[number] += 1
      waiting.get(number)?.(now())
    },
    countReplies() {
      const lost = replies.filter((count, number) => count === 0 || late.has(number)).length
      const doubled = replies.reduce((sum, count) => sum + Math.max(0, count - 1), unknown)
      return { lost, doubled }
    },
  }
}
