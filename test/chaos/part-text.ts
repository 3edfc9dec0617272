// Replies of several parts: what each part says, known to the agent that writes it and to the driver that looks for it.

/** Longer than half of it, so that no two parts fit into one message. */
export const partLimit = 100

export function partTexts(id: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `part ${id} ${index + 1}/${count} `.padEnd(partLimit * 0.7, '~'))
}

/** The parts a message asks for; none when it asks for something else. */
export function partsWished(id: string, wish: string): readonly string[] {
  const count = /^parts (\d+)$/.exec(wish)?.[1]
  return count === undefined ? [] : partTexts(id, Number(count))
}
