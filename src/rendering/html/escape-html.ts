// Words and attribute values inside HTML that we write ourselves.

const special = /[&<>"]/

export function escapeHtml(text: string): string {
  if (!special.test(text)) return text
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}
