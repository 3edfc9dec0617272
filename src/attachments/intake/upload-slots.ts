// How many uploads may flow at once. A few more wait with their bytes unread; uploads after those are refused.
import { GatewayError } from '../../contract/index.ts'

export type UploadSlots = { readonly run: <Result>(work: () => Promise<Result>) => Promise<Result> }

export function createUploadSlots(maxRunning: number, maxWaiting: number): UploadSlots {
  const waiting: (() => void)[] = []
  let running = 0
  const enterUploadSlot = async (): Promise<void> => {
    if (running < maxRunning) {
      running += 1
      return
    }
    if (waiting.length >= maxWaiting) {
      throw new GatewayError('storage_overloaded', '[attachments] too many uploads at once; try again in a moment', {
        retryable: true,
      })
    }
    // An upload that ends hands its place to the next, so that no other can slip in between.
    await new Promise<void>((resolve) => waiting.push(resolve))
  }
  const leave = (): void => {
    const next = waiting.shift()
    if (next === undefined) running -= 1
    else next()
  }
  return {
    async run(work) {
      await enterUploadSlot()
      try {
        return await work()
      } finally {
        leave()
      }
    },
  }
}
