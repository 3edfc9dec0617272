// Results that stop the run and wait. The mark is a symbol, so that nothing a tool fetched from elsewhere can look like one:
// JSON cannot spell it.
import type { Fields } from '../../contract/index.ts'

const mark: unique symbol = Symbol.for('parley.pause')

export type Pause = { readonly [mark]: 'runtime_tool_pending' | 'approval_required'; readonly details: Fields }

/** A client runs the tool and reports later. */
export function runtimeToolPending(request: Fields = {}): Pause {
  return { [mark]: 'runtime_tool_pending', details: request }
}

/** A person must agree first. `details` is what they decide about. */
export function approvalRequired(details: Fields): Pause {
  return { [mark]: 'approval_required', details }
}

export function readPause(
  value: unknown,
): { readonly status: Pause[typeof mark]; readonly details: Fields } | undefined {
  if (typeof value !== 'object' || value === null || !(mark in value)) return undefined
  const pause = value as Pause
  return { status: pause[mark], details: pause.details }
}
