// The frame of every load: connections that stay, one request at a time on each, until the time or the requests are over.

export type Drive = {
  readonly port: number
  readonly requests: readonly Buffer[]
  readonly connections: number
  readonly seconds: number
}

export type LoadResult = {
  readonly answered: number
  readonly seconds: number
  readonly latenciesMs: readonly number[]
}

/** What a connection is given: the next request, undefined at the end, and where it notes how long each answer took. */
export type Talk = { readonly take: () => Buffer | undefined; readonly latenciesMs: number[] }

export const answerTimeoutMs = 20_000

/** Opening is not measured. Rejects with the first connection whose talk does. */
export async function drive<Line extends { readonly destroy: () => void }>(
  { port, requests, connections, seconds }: Drive,
  open: (port: number) => Promise<Line>,
  converse: (line: Line, talk: Talk) => Promise<void>,
): Promise<LoadResult> {
  const lines = await Promise.all(Array.from({ length: connections }, () => open(port)))
  const started = performance.now()
  const deadline = started + seconds * 1000
  const latenciesMs: number[] = []
  let next = 0
  const take = (): Buffer | undefined => {
    if (performance.now() >= deadline) return undefined
    next += 1
    return requests[next - 1]
  }
  try {
    await Promise.all(lines.map((line) => converse(line, { take, latenciesMs })))
    return { answered: latenciesMs.length, seconds: (performance.now() - started) / 1000, latenciesMs }
  } finally {
    for (const line of lines) line.destroy()
  }
}
