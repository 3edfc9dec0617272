// The journey as one picture: CPU per answered message by subject, gateway and PostgreSQL stacked. Plain SVG, readable on a light
// and on a dark ground.

export type Bar = { readonly label: string; readonly gatewayMs: number; readonly databaseMs: number }

const width = 760
const labelWidth = 130
const valueWidth = 110
const barHeight = 22
const rowHeight = 34
const top = 84
const bottom = 34

const style = `
    text { font: 13px system-ui, sans-serif; fill: #1f2328 }
    .title { font-size: 15px; font-weight: 600 }
    .note { font-size: 12px; fill: #59636e }
    .gateway { fill: #2f6fd0 }
    .database { fill: #e08a2e }
    @media (prefers-color-scheme: dark) {
      .ground { fill: #0d1117 }
      text { fill: #f0f6fc }
      .note { fill: #9198a1 }
      .gateway { fill: #5b96ee }
      .database { fill: #f0a860 }
    }`

/** Shortest first; the caption says which run it was. */
export function drawJourneyChart(bars: readonly Bar[], caption: string): string {
  const rows = bars.toSorted((a, b) => a.gatewayMs + a.databaseMs - (b.gatewayMs + b.databaseMs))
  const longest = Math.max(0.001, ...rows.map(({ gatewayMs, databaseMs }) => gatewayMs + databaseMs))
  const height = top + rows.length * rowHeight + bottom
  const scale = (width - labelWidth - valueWidth) / longest
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img">
  <title>CPU per answered message</title>
  <style>${style}
  </style>
  <rect class="ground" width="${width}" height="${height}" fill="#ffffff"/>
  <text class="title" x="16" y="28">CPU per answered message, milliseconds, 32 in flight</text>
  <rect class="gateway" x="16" y="44" width="12" height="12"/><text x="34" y="55">gateway process</text>
  <rect class="database" x="164" y="44" width="12" height="12"/><text x="182" y="55">PostgreSQL</text>
${rows.map((bar, index) => drawBar(bar, top + index * rowHeight, scale)).join('\n')}
  <text class="note" x="16" y="${height - 12}">${escapeXml(caption)}</text>
</svg>
`
}

function drawBar({ label, gatewayMs, databaseMs }: Bar, y: number, scale: number): string {
  const [gateway, database] = [gatewayMs * scale, databaseMs * scale]
  const baseline = y + barHeight / 2 + 5
  const end = labelWidth + gateway + database
  return [
    `  <text x="${labelWidth - 10}" y="${baseline}" text-anchor="end">${escapeXml(label)}</text>`,
    `  <rect class="gateway" x="${labelWidth}" y="${y}" width="${gateway.toFixed(1)}" height="${barHeight}"/>`,
    `  <rect class="database" x="${(labelWidth + gateway).toFixed(1)}" y="${y}" width="${database.toFixed(1)}" height="${barHeight}"/>`,
    `  <text x="${(end + 8).toFixed(1)}" y="${baseline}">${(gatewayMs + databaseMs).toFixed(2)}</text>`,
  ].join('\n')
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
}
