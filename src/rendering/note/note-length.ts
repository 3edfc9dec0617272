// The length of a post as its readers' servers count it: characters, 23 for any web address, a handle without its server.

const webAddress = /https?:\/\/[^\s<>"]+/gi
const countedAddress = 'x'.repeat(23)
const handle =
  /(?<![=/\p{L}\p{N}_])@([\p{L}\p{N}_]+(?:[\p{L}\p{N}_.-]+[\p{L}\p{N}_]+)?)@[\p{L}\p{N}_.-]*[\p{L}\p{N}_]/gu

export function noteLength(text: string): number {
  const counted = text.replace(webAddress, countedAddress).replace(handle, '@$1')
  let length = 0
  for (const _ of counted) length += 1
  return length
}
