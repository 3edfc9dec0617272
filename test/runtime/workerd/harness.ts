// How a test in workerd reaches the gateway and learns what the Bot API got.
import { describe, inject } from 'vitest'
import type { JourneyHarness } from '../journey.ts'

export async function sentTo(chat: number): Promise<readonly string[]> {
  const response = await fetch(inject('runtime').sentUrl)
  const sent = (await response.json()) as { chat_id: string; text: string }[]
  return sent.filter((each) => each.chat_id === String(chat)).map((each) => each.text)
}

export function harnessOf(fetchGateway: (request: Request) => Promise<Response>): JourneyHarness {
  return { fetch: (path, init) => fetchGateway(new Request(`https://parley.example${path}`, init)), sentTo }
}

/** Without the run's PostgreSQL the suite is skipped, with the reason in its name. */
export function describeInWorkerd(name: string, declareTests: () => void): void {
  const { url, reason } = inject('postgres')
  if (url === '') describe.skip(`${name} (${reason})`, declareTests)
  else describe(name, declareTests)
}
