// A policy part as a section with a button: what is asked, where to go, and the id the answer is found by.
import type { JsonObject } from '../../contract/index.ts'
import { type Policy, policyAction, policyText } from '../policy-action.ts'
import type { Block, Inline } from '../tree.ts'
import { limits } from './limits.ts'
import { renderMrkdwn } from './render-mrkdwn.ts'

const buttonId = 'policy'

/** The terms stay with us: `value` holds nothing but the id of the state. `origin` is the agent's own, where it is known. */
export function policyBlocks(policy: Policy, { origin }: { readonly origin?: string } = {}): readonly JsonObject[] {
  const sections = policyTexts(policy).map(
    (text): JsonObject => ({ type: 'section', text: { type: 'mrkdwn', text, verbatim: true } }),
  )
  const button = policyButton(policy, origin)
  const last = sections.at(-1)
  if (button === undefined || last === undefined) return sections
  return [...sections.slice(0, -1), { ...last, accessory: button }]
}

function policyTexts(policy: Policy): readonly string[] {
  const title = policyText(policy['title'])
  const children: Block[] = title === '' ? [] : [policyParagraph([{ type: 'strong', children: textWithBreaks(title) }])]
  return renderMrkdwn(
    { type: 'root', children: [...children, policyParagraph(textWithBreaks(policyText(policy.message)))] },
    limits.section,
  )
}

function policyButton(policy: Policy, origin: string | undefined): JsonObject | undefined {
  const action = policyAction(policy, origin)
  if (action === undefined || action.url.length > limits.url) return undefined
  const state = policy['state']
  const isCarried = typeof state === 'string' && state !== '' && state.length <= limits.buttonValue
  const label = action.label.slice(0, limits.buttonText).trim().toWellFormed()
  return {
    type: 'button',
    action_id: buttonId,
    text: { type: 'plain_text', text: label, emoji: false },
    url: action.url,
    ...(isCarried ? { value: state } : {}),
  }
}

function policyParagraph(children: readonly Inline[]): Block {
  return { type: 'paragraph', children }
}

function textWithBreaks(text: string): readonly Inline[] {
  return text
    .split('\n')
    .flatMap((value, index): readonly Inline[] =>
      index === 0 ? [{ type: 'text', value }] : [{ type: 'break' }, { type: 'text', value }],
    )
}
