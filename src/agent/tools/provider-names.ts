// Names as model providers take them: letters, digits and underscores, 64 at most. Ours have a slash (issue 320 of the
// original), so every tool has a second spelling, and the way back must lead to one tool only.
export const maxProviderName = 64

const allowed = /^[A-Za-z][A-Za-z0-9_-]{0,63}$/

export function providerSafeName(name: string): string {
  const safe = name.replace(/[^A-Za-z0-9_]+/g, '__').replace(/^_+|_+$/g, '')
  if (safe === '') return 'tool'
  return /^[A-Za-z]/.test(safe) ? safe : `tool_${safe}`
}

export function isProviderName(name: unknown): name is string {
  return typeof name === 'string' && allowed.test(name)
}
