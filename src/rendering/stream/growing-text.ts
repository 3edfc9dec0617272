// A text that is still growing, up to where it can be read: half a character is held back.
import { cleanShownText } from '../shown-text.ts'

export function growingText(text: string): string {
  const last = text.charCodeAt(text.length - 1)
  const isHalf = last >= 0xd800 && last <= 0xdbff
  return cleanShownText(isHalf ? text.slice(0, -1) : text)
}
