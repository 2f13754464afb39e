"""The console as a whole: login, language, theme, assets, security headers."""

from tests.browser.console import LIST, Console
from tests.browser.looks import DARK, every_look


def test_it_lets_an_operator_in_and_keeps_where_he_was_going(open_console, operator):
    console = open_console(None)
    console.open(f"{LIST}?q=tea")
    assert console.path.startswith("/admin/login/?next=")
    console.find("#id_username").fill("root")
    console.find("#id_password").fill("root")
    console.follow(console.find("[type=submit]"))
    assert console.path == f"{LIST}?q=tea"


@every_look
def test_it_opens_the_list_in_every_look(console: Console, memories, look):
    memories.save("Drinks green tea in the morning")
    console.open(LIST)
    assert console.page.evaluate("document.documentElement.lang") == look.language
    assert "Drinks green tea" in console.find("#result_list").inner_text()
    assert console.overflow() == 0


def test_it_switches_the_language_and_keeps_page_and_filters(console: Console, memories):
    memories.save("tea")
    console.open(f"{LIST}?agentName=helper&q=tea")
    console.follow(console.find("form.language button"))
    assert console.path == f"{LIST}?agentName=helper&q=tea"
    assert console.page.evaluate("document.documentElement.lang") == "zh-hans"
    console.follow(console.find("form.language button"))
    assert console.page.evaluate("document.documentElement.lang") == "en"


def background(console: Console) -> str:
    return str(console.page.evaluate("getComputedStyle(document.body).backgroundColor"))


def test_it_follows_the_systems_theme_until_one_is_chosen(open_console, operator):
    light, dark = open_console(operator), open_console(operator, DARK)
    light.open("/admin/")
    dark.open("/admin/")
    assert background(light) != background(dark)
    light.find("button.theme-toggle").first.click()  # auto → dark where the system is light
    chosen = light.page.evaluate("localStorage.getItem('theme')")
    shown = background(light)
    light.page.reload()
    assert (light.page.evaluate("document.documentElement.dataset.theme"), background(light)) == (chosen, shown)


def test_it_notices_what_goes_wrong_in_a_page(console: Console):
    console.open("/admin/")
    console.page.evaluate("console.error('a slip')")
    console.page.evaluate("setTimeout(() => { throw new Error('a bug') })")
    console.page.evaluate("fetch('/static/missing.js')")
    console.page.evaluate("fetch('http://elsewhere.invalid/').catch(() => {})")
    console.page.wait_for_load_state("networkidle")
    for pattern in ("a slip", "a bug", "HTTP 404", "status of 404", "violates the .* Content Security Policy"):
        console.expect(pattern)


def test_it_notices_requests_to_other_origins(console: Console):
    console.page.goto("about:blank")
    console.page.evaluate("fetch('http://elsewhere.invalid/').catch(() => {})")
    console.page.wait_for_load_state("networkidle")
    for pattern in ("another origin: http://elsewhere.invalid/", "request failed", "Failed to load resource"):
        console.expect(pattern)


def test_it_tries_the_api_out_on_its_page(console: Console):
    console.open("/api/docs/")
    console.find(".opblock-summary-control").filter(has_text="memory_type/page").click()
    console.find(".try-out__btn").click()
    console.find(".execute").click()
    console.find(".live-responses-table").get_by_text("sign in again").wait_for()
    console.expect("HTTP 401")
    console.expect("status of 401")
