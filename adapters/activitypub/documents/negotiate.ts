// Whether a client reads ActivityStreams or is a browser. One that does not say is shown a page.

const activityTypes = ['application/activity+json', 'application/ld+json', 'application/json']
const pageTypes = ['text/html', 'application/xhtml+xml', 'text/*', '*/*']
const maxLength = 1024

export function wantsActivity(accept: string | null): boolean {
  const asked = parseAccept(accept ?? '')
  const best = (types: readonly string[]): Range | undefined =>
    asked.filter(({ type, q }) => types.includes(type) && q > 0).toSorted((one, other) => other.q - one.q)[0]
  const [activity, page] = [best(activityTypes), best(pageTypes)]
  if (activity === undefined) return false
  if (page === undefined) return true
  // Named is better than any, and of two that are equal the first is meant.
  if (activity.q !== page.q) return activity.q > page.q
  return page.type.includes('*') || activity.at < page.at
}

type Range = { readonly type: string; readonly q: number; readonly at: number }

function parseAccept(accept: string): readonly Range[] {
  return accept
    .slice(0, maxLength)
    .toLowerCase()
    .split(',')
    .map((range, at) => {
      const [type = '', ...parameters] = range.split(';').map((each) => each.trim())
      const q = Number(parameters.find((each) => each.startsWith('q='))?.slice(2) ?? 1)
      return { type, q: Number.isNaN(q) ? 1 : q, at }
    })
}
