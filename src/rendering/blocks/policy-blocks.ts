// A policy part as a section with a button (msg 9.5): what is asked, where to go, and the id the answer is found by.
import type { JsonObject, KnownPart } from '../../contract/index.ts'
import { safeUrl } from '../safe-url.ts'
import { shownText } from '../shown-text.ts'
import type { Block, Inline } from '../tree.ts'
import { limits } from './limits.ts'
import { renderMrkdwn } from './render-mrkdwn.ts'

export type Policy = Extract<KnownPart, { readonly kind: 'policy' }>['policy']

const buttonId = 'policy'
const defaultLabel = 'Open'

/** The terms stay with us: `value` holds nothing but the id of the state. `origin` is the agent's own, where it is known. */
export function policyBlocks(policy: Policy, { origin }: { readonly origin?: string } = {}): readonly JsonObject[] {
  const sections = policyTexts(policy).map(
    (text): JsonObject => ({ type: 'section', text: { type: 'mrkdwn', text, verbatim: true } }),
  )
  const button = buttonOf(policy, origin)
  const last = sections.at(-1)
  if (button === undefined || last === undefined) return sections
  return [...sections.slice(0, -1), { ...last, accessory: button }]
}

function policyTexts(policy: Policy): readonly string[] {
  const title = textOf(policy['title'])
  const children: Block[] = title === '' ? [] : [paragraph([{ type: 'strong', children: lines(title) }])]
  return renderMrkdwn(
    { type: 'root', children: [...children, paragraph(lines(textOf(policy.message)))] },
    limits.section,
  )
}

function buttonOf(policy: Policy, origin: string | undefined): JsonObject | undefined {
  const url = actionUrl(policy['url'], origin)
  if (url === undefined) return undefined
  const state = policy['state']
  const isCarried = typeof state === 'string' && state !== '' && state.length <= limits.buttonValue
  const label = textOf(policy['action_label']).slice(0, limits.buttonText).trim().toWellFormed()
  return {
    type: 'button',
    action_id: buttonId,
    text: { type: 'plain_text', text: label === '' ? defaultLabel : label, emoji: false },
    url,
    ...(isCarried ? { value: state } : {}),
  }
}

/** Only https, only the agent's own site; anything else stays a text without a link (msg 9.1). */
function actionUrl(written: unknown, origin: string | undefined): string | undefined {
  const url = typeof written === 'string' ? safeUrl(written) : undefined
  if (url === undefined || url.length > limits.url || new URL(url).protocol !== 'https:') return undefined
  return origin === undefined || new URL(url).origin === origin ? url : undefined
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? shownText(value).trim() : ''
}

function paragraph(children: readonly Inline[]): Block {
  return { type: 'paragraph', children }
}

function lines(text: string): readonly Inline[] {
  return text
    .split('\n')
    .flatMap((value, index): readonly Inline[] =>
      index === 0 ? [{ type: 'text', value }] : [{ type: 'break' }, { type: 'text', value }],
    )
}
