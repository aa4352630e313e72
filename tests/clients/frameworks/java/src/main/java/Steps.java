/** Prints a line for each step of an application: `NAME: RESULT`. */
final class Steps {
    interface Step {
        Object run() throws Exception;
    }

    private Steps() {}

    static void step(String name, Step step) {
        String result;
        try {
            result = String.valueOf(step.run());
        } catch (Throwable e) {
            Throwable cause = e;
            while (cause.getCause() != null) cause = cause.getCause();
            result = "error " + e.getClass().getSimpleName() + ", " + cause.getMessage();
        }
        System.out.println(name + ": " + result.replace('\n', ' '));
    }

    static String url(String database, String options) {
        return "jdbc:mysql://" + System.getenv("STEMDB_HOST") + ":" + System.getenv("STEMDB_PORT") + "/" + database + "?" + options;
    }
}
