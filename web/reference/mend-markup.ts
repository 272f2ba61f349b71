/**
 * Swagger UI leaves controls without a name, puts links into buttons, and lets what scrolls be reached by the mouse
 * only. This mends what it renders, again whenever it renders.
 */
export function mendMarkup(root: HTMLElement): void {
  const mend = () => {
    for (const select of root.querySelectorAll('select:not([aria-label])')) {
      select.setAttribute('aria-label', nameOfSelect(select))
    }
    for (const button of root.querySelectorAll('button.json-schema-2020-12-accordion:not([aria-label])')) {
      if (button.textContent?.trim() === '') button.setAttribute('aria-label', 'Expand')
    }
    for (const scrolled of root.querySelectorAll(
      'pre:not([tabindex]), .microlight:not([tabindex]), .responses-inner:not([tabindex]), .table-container:not([tabindex])',
    )) {
      scrolled.setAttribute('tabindex', '0')
    }
    // The button around it opens the operation and puts its place into the address.
    for (const link of root.querySelectorAll('.opblock-summary-control a[href]')) link.removeAttribute('href')
  }
  new MutationObserver(mend).observe(root, { childList: true, subtree: true })
}

function nameOfSelect(select: Element): string {
  const parameter = select.closest('[data-param-name]')?.getAttribute('data-param-name')
  if (parameter != null) return parameter
  return select.classList.contains('examples-select-element') ? 'Example' : 'Media type'
}
