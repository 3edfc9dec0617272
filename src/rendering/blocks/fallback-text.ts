// The text beside the blocks, for notifications and screen readers: the beginning of the same words.
import { cutPoint } from '../cut-point.ts'
import type { Block } from '../tree.ts'
import { limits } from './limits.ts'
import type { BlocksOptions } from './options.ts'
import { mrkdwnText } from './render-mrkdwn.ts'

const more = ' …'

export function fallbackText(blocks: readonly Block[], options: BlocksOptions): string {
  const text = mrkdwnText(blocks, options)
  if (text.length <= limits.fallback) return text
  const start = text.slice(0, cutPoint(text, limits.fallback - more.length))
  // Half a token or half a reference would be seen as such.
  const whole = start.replace(/<[^<>]*$|&[a-z]*$/, '')
  return `${whole.trimEnd()}${more}`
}
