// Fenced code in plain text, as far as cutting needs it (CommonMark 4.5): is a fence open here, and how is it closed?

/** An open fence: what closes it, and the line that opens it again in the next piece. */
export type Fence = { readonly marker: string; readonly reopening: string }

/** `openedAt` is where the open fence's first line starts, or -1 when it was open from the beginning. */
export type FenceState = { readonly fence: Fence | undefined; readonly openedAt: number }

const fenceLine = /^ {0,3}(`{3,}|~{3,})([^\n]*)$/
const wordOfLanguage = /[^A-Za-z0-9+#._-]/g

/** State at the end of `text`. Fences that would fill half a piece by themselves are treated as ordinary text. */
export function trackFence(text: string, open: Fence | undefined, limit: number): FenceState {
  let fence = open
  let openedAt = -1
  for (let start = 0; start <= text.length; ) {
    const newline = text.indexOf('\n', start)
    const end = newline === -1 ? text.length : newline
    const line = text.slice(start, end)
    if (fence !== undefined) {
      if (closesFence(line, fence)) fence = undefined
    } else {
      fence = openedFence(line, limit)
      openedAt = start
    }
    start = end + 1
  }
  return { fence, openedAt: fence === undefined ? -1 : openedAt }
}

export function closesFence(line: string, fence: Fence): boolean {
  const match = fenceLine.exec(line)
  const marker = match?.[1] ?? ''
  return marker.startsWith(fence.marker) && (match?.[2] ?? '').trim() === ''
}

function openedFence(line: string, limit: number): Fence | undefined {
  const match = fenceLine.exec(line)
  const marker = match?.[1]
  const info = match?.[2] ?? ''
  if (marker === undefined || (marker.startsWith('`') && info.includes('`'))) return undefined
  const language = (info.trim().split(/\s/)[0] ?? '').replace(wordOfLanguage, '').slice(0, 32)
  const fence = { marker, reopening: marker + language }
  return (fence.reopening.length + marker.length + 2) * 2 <= limit ? fence : undefined
}
