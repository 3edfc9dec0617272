// Addresses of links, listed once each below the text that refers to them by number.

export type LinkNotes = {
  readonly numberOf: (url: string) => number
  readonly lines: () => readonly string[]
}

export function createLinkNotes(): LinkNotes {
  const numbers = new Map<string, number>()
  return {
    numberOf(url) {
      const number = numbers.get(url) ?? numbers.size + 1
      numbers.set(url, number)
      return number
    },
    lines: () => [...numbers].map(([url, number]) => `[${number}] ${url}`),
  }
}
