// What a reader must know about a link besides its label: where it really goes.

const maxShownUrl = 2_000
const protocols = new Set(['https:', 'http:', 'mailto:', 'tel:'])
const mention = /^@[\p{L}\p{N}_.-]+$/u
const hashtag = /^#[\p{L}\p{M}\p{N}_]+$/u

/** What is said besides the label: behind it, apart from it with a space, or instead of it. */
type LinkText = { readonly text: string; readonly place: 'behind' | 'apart' | 'instead' }

/** Undefined: the label says it all. */
export function htmlLinkText(
  label: string,
  href: string | undefined,
  classes: readonly string[],
): LinkText | undefined {
  const url = linkTarget(href)
  if (label === '' || url === undefined) return undefined
  if (hashtag.test(label) && classes.includes('hashtag')) return undefined
  if (mention.test(label) && (classes.includes('mention') || classes.includes('u-url')))
    return url.host === '' ? undefined : { text: `@${url.host}`, place: 'behind' }
  if (saysSame(label, url)) return undefined
  const shown = shownUrl(url)
  if (shown.length > maxShownUrl) return { text: `(${shown.slice(0, maxShownUrl)}…)`, place: 'apart' }
  return isShortened(label, url) ? { text: shown, place: 'instead' } : { text: `(${shown})`, place: 'apart' }
}

/** The beginning of the address itself, with all of its host: how servers of the fediverse show long ones. */
function isShortened(label: string, url: URL): boolean {
  const stem = /^(.+?)(?:…|\.\.\.)$/.exec(label)?.[1]
  if (stem === undefined || url.host === '') return false
  const [said, target] = [comparable(stem), comparable(shownUrl(url))]
  return target.startsWith(said) && said.length > comparable(url.host).length
}

function linkTarget(href: string | undefined): URL | undefined {
  if (href === undefined || !URL.canParse(href)) return undefined
  const url = new URL(href)
  return protocols.has(url.protocol) ? url : undefined
}

/** User names in an address only deceive, and the subject and body of a mailto link are not needed. */
function shownUrl(url: URL): string {
  if (url.protocol === 'mailto:' || url.protocol === 'tel:') return url.protocol + url.pathname
  const shown = new URL(url)
  shown.username = ''
  shown.password = ''
  return shown.href
}

/** `x.example` and `https://www.x.example/` go to the same place; so do an address of mail and its link. */
function saysSame(label: string, url: URL): boolean {
  if (url.protocol === 'mailto:' || url.protocol === 'tel:') {
    const bare = (text: string) =>
      text
        .replace(/^(?:mailto|tel):/i, '')
        .replace(/[\s()-]/g, '')
        .toLowerCase()
    return bare(label) === bare(shownUrl(url)) || bare(label) === bare(decodeUriSafely(url.pathname))
  }
  const user = /^@([\p{L}\p{N}_.-]+)@([\p{L}\p{N}.:-]+)$/u.exec(label)
  if (user !== null) return user[2]?.toLowerCase() === url.host && url.href.includes(user[1] ?? '')
  return (
    comparable(label) === comparable(shownUrl(url)) || comparable(label) === comparable(decodeUriSafely(shownUrl(url)))
  )
}

function comparable(text: string): string {
  return text
    .trim()
    .replace(/^https?:\/\//i, '')
    .replace(/^www\./i, '')
    .replace(/\/$/, '')
    .replace(/^[^/?#]+/, (host) => host.toLowerCase())
}

function decodeUriSafely(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
