// HTML read for its words only; the result is plain text and is never put back into markup.

const entities: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ', amp: '&' }

export function htmlWords(html: string): string {
  return html
    .replace(/<(?:br|\/p|\/div|\/li|\/h[1-6])\b[^<>]*>/gi, '\n')
    .replace(/<[^<>]*>/g, '')
    .replace(/&(lt|gt|quot|apos|nbsp|amp);/g, (whole, name: string) => entities[name] ?? whole)
}
