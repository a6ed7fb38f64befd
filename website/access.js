// What axe finds in the theme: a dialog without a name, and boxes that a keyboard cannot scroll.
document.querySelector('.md-search')?.setAttribute('aria-label', 'Search')
new MutationObserver(() => {
  for (const box of document.querySelectorAll('.md-typeset__scrollwrap, .md-typeset pre > code')) {
    box.tabIndex = 0
  }
}).observe(document.body, { childList: true, subtree: true })
