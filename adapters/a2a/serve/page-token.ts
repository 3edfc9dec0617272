// Page tokens: where a list goes on, for this caller and this query alone. They are authenticated, so a caller cannot make one up.
import type { Hmac, TaskQuery } from '../../../src/contract/index.ts'
import { equalInConstantTime, toHex } from '../../../src/lib/index.ts'

export type PageTokens = {
  write(after: NonNullable<TaskQuery['after']>, about: readonly unknown[]): Promise<string>
  /** Undefined: not one of ours, or of another list. */
  read(token: string, about: readonly unknown[]): Promise<TaskQuery['after'] | undefined>
}

const utf8 = new TextEncoder()

export function createPageTokens(hmac: Hmac, secret: () => Promise<string>): PageTokens {
  const signPage = async (text: string, about: readonly unknown[]): Promise<string> => {
    const bytes = utf8.encode(JSON.stringify(['a2a-page', text, ...about]))
    return toHex(await hmac.sha256(await secret(), bytes)).slice(0, 32)
  }
  return {
    async write({ stateAt, id }, about) {
      const text = JSON.stringify([stateAt, id])
      return `${btoa(text)}.${await signPage(text, about)}`
    },
    async read(token, about) {
      const [encoded = '', given = ''] = token.split('.')
      const text = decodePageToken(encoded)
      if (text === undefined) return undefined
      const isOurs = equalInConstantTime(given, await signPage(text, about))
      return isOurs ? parsePosition(text) : undefined
    },
  }
}

function decodePageToken(encoded: string): string | undefined {
  try {
    return atob(encoded)
  } catch {
    return undefined
  }
}

/** Marked by us, so that it is what we wrote. */
function parsePosition(text: string): TaskQuery['after'] {
  const [stateAt, id] = JSON.parse(text) as readonly [string, string]
  return { stateAt, id }
}
