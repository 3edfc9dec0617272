// A whole HTTP request as bytes: while the clock runs, the driver only writes them.

const usual = {
  host: '127.0.0.1',
  'user-agent': 'platform-robot/1.0',
  accept: '*/*',
  'content-type': 'application/json',
}

export function httpRequest(path: string, headers: Readonly<Record<string, string>>, body: Buffer): Buffer {
  const all = { ...usual, 'content-length': body.length, ...headers, connection: 'keep-alive' }
  const head = [`POST ${path} HTTP/1.1`, ...Object.entries(all).map(([name, value]) => `${name}: ${value}`)]
  return Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), body])
}

const people = 400
const rooms = 1000
const sentence =
  'Could you look at the order from last week, the one with the two blue lamps, and tell me when it will be here? '
// One message in four is not plain ASCII, as in real rooms.
const endings = [
  'Thanks.',
  'Thank you very much in advance.',
  'It is for Sunday.',
  'Gr\u00fc\u00dfe aus K\u00f6ln \u{1f642}',
]

/** The same words, people and rooms on every platform. */
export function scene(index: number): { readonly text: string; readonly person: number; readonly room: number } {
  return { text: `${sentence}${endings[index % endings.length]}`, person: index % people, room: index % rooms }
}

/** What stands behind the words where there is to be a link. */
export const link = 'https://lamps.example/orders/4815162342?tab=delivery'
/** The same length in words: what a link costs is not what fifty letters cost. */
export const noLink = 'It is the order with the number that ends on 162342.'
