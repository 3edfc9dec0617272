// A gateway that works in the background, as a process does, while the test talks to it.
import type { TestGateway } from './test-gateway.ts'

export type AtWork = { readonly stop: () => Promise<void> }

export function putToWork(gateway: TestGateway): AtWork {
  const deadline = new AbortController()
  const drained = gateway.gateway.drain({ deadline: deadline.signal })
  return {
    async stop() {
      deadline.abort()
      await drained
    },
  }
}

/** Waits, bounded, until `isTrue` holds. */
export async function until(isTrue: () => boolean | Promise<boolean>, timeoutMs = 30_000): Promise<void> {
  const end = Date.now() + timeoutMs
  while (!(await isTrue())) {
    if (Date.now() > end) throw new Error('did not become true in time')
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

/** A door that stays shut until the test opens it. */
export type Door = { readonly passed: Promise<void>; readonly open: () => void }

export function createDoor(): Door {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { passed: promise, open: resolve }
}
